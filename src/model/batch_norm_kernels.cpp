#include "batch_norm_kernels.hpp"

#include <ATen/Parallel.h>

#include <algorithm>
#include <vector>

#include "batch_norm_loops.hpp"

namespace lockstep::model {
namespace {

constexpr std::int64_t kElementsPerTask = 32768;

// Rows of one task and of one partial sum. A function of the layout alone, so that sums do not
// depend on the number of threads; at least 64 rows, so that adding the partial sums stays cheap.
std::int64_t rows_per_chunk(std::int64_t channels) {
  return std::max<std::int64_t>(64, kElementsPerTask / std::max<std::int64_t>(1, channels));
}

// sum_rows(first_row, row_count, a, b) adds to a[C] and b[C]; the partial sums of the chunks are
// then added in the order of the rows.
template <typename SumRows>
void sum_over_rows(const BatchLayout& layout, double* sums, SumRows sum_rows) {
  const std::int64_t width = 2 * layout.channels;
  const std::int64_t chunk = rows_per_chunk(layout.channels);
  const std::int64_t chunks = (layout.rows + chunk - 1) / chunk;
  std::fill(sums, sums + width, 0.0);
  std::vector<double> partial(static_cast<std::size_t>(chunks * width), 0.0);
  at::parallel_for(0, chunks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      double* mine = partial.data() + k * width;
      sum_rows(k * chunk, std::min(chunk, layout.rows - k * chunk), mine, mine + layout.channels);
    }
  });
  for (std::int64_t k = 0; k < chunks; ++k) {
    for (std::int64_t c = 0; c < width; ++c)
      sums[c] += partial[static_cast<std::size_t>(k * width + c)];
  }
}

// sum_plane(offset, channel, a, b) adds one plane's sums; a channel belongs to one thread, its
// planes are added in the order of the rows.
template <typename SumPlane>
void sum_over_planes(const BatchLayout& layout, double* sums, SumPlane sum_plane) {
  const std::int64_t grain = std::max<std::int64_t>(
      1, kElementsPerTask / std::max<std::int64_t>(1, layout.values_per_channel()));
  at::parallel_for(0, layout.channels, grain, [&](std::int64_t begin, std::int64_t end) {
    std::fill(sums + begin, sums + end, 0.0);
    std::fill(sums + layout.channels + begin, sums + layout.channels + end, 0.0);
    // Rows outside: the planes of neighbouring channels are neighbours in memory.
    for (std::int64_t r = 0; r < layout.rows; ++r) {
      for (std::int64_t c = begin; c < end; ++c) {
        sum_plane((r * layout.channels + c) * layout.inner, c, sums + c,
                  sums + layout.channels + c);
      }
    }
  });
}

template <typename Apply>
void for_rows(const BatchLayout& layout, Apply apply) {
  at::parallel_for(
      0, layout.rows, rows_per_chunk(layout.channels),
      [&](std::int64_t begin, std::int64_t end) { apply(begin * layout.channels, end - begin); });
}

template <typename Apply>
void for_planes(const BatchLayout& layout, Apply apply) {
  const std::int64_t grain = std::max<std::int64_t>(1, kElementsPerTask / layout.inner);
  at::parallel_for(0, layout.rows * layout.channels, grain,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t p = begin; p < end; ++p) {
                       apply(p * layout.inner, p % layout.channels);
                     }
                   });
}

}  // namespace

template <typename T>
void channel_moments(const T* x, const BatchLayout& layout, const double* shift, double* sums) {
  if (layout.inner == 1) {
    sum_over_rows(layout, sums, [&](std::int64_t first, std::int64_t rows, double* a, double* b) {
      loops::moments_rows<T>(x + first * layout.channels, rows, layout.channels, shift, a, b);
    });
  } else {
    sum_over_planes(layout, sums, [&](std::int64_t at, std::int64_t c, double* a, double* b) {
      loops::moments_plane<T>(x + at, layout.inner, shift[c], a, b);
    });
  }
}

template <typename T>
void normalise(const T* x, const BatchLayout& layout, const T* centre, const T* scale,
               const T* offset, T* y) {
  if (layout.inner == 1) {
    for_rows(layout, [&](std::int64_t at, std::int64_t rows) {
      loops::normalise_rows<T>(x + at, rows, layout.channels, centre, scale, offset, y + at);
    });
  } else {
    for_planes(layout, [&](std::int64_t at, std::int64_t c) {
      loops::normalise_plane<T>(x + at, layout.inner, centre[c], scale[c], offset[c], y + at);
    });
  }
}

template <typename T>
void gradient_moments(const T* dy, const T* x, const BatchLayout& layout, const T* centre,
                      double* sums) {
  if (layout.inner == 1) {
    sum_over_rows(layout, sums, [&](std::int64_t first, std::int64_t rows, double* a, double* b) {
      const std::int64_t at = first * layout.channels;
      loops::gradient_rows<T>(dy + at, x + at, rows, layout.channels, centre, a, b);
    });
  } else {
    sum_over_planes(layout, sums, [&](std::int64_t at, std::int64_t c, double* a, double* b) {
      loops::gradient_plane<T>(dy + at, x + at, layout.inner, centre[c], a, b);
    });
  }
}

template <typename T>
void input_gradient(const T* dy, const T* x, const BatchLayout& layout, const T* centre,
                    const T* scale, const T* slope, const T* offset, T* dx) {
  if (layout.inner == 1) {
    for_rows(layout, [&](std::int64_t at, std::int64_t rows) {
      loops::input_gradient_rows<T>(dy + at, x + at, rows, layout.channels, centre, scale, slope,
                                    offset, dx + at);
    });
  } else {
    for_planes(layout, [&](std::int64_t at, std::int64_t c) {
      loops::input_gradient_plane<T>(dy + at, x + at, layout.inner, centre[c], scale[c], slope[c],
                                     offset[c], dx + at);
    });
  }
}

template void channel_moments<float>(const float*, const BatchLayout&, const double*, double*);
template void normalise<float>(const float*, const BatchLayout&, const float*, const float*,
                               const float*, float*);
template void gradient_moments<float>(const float*, const float*, const BatchLayout&, const float*,
                                      double*);
template void input_gradient<float>(const float*, const float*, const BatchLayout&, const float*,
                                    const float*, const float*, const float*, float*);
template void channel_moments<double>(const double*, const BatchLayout&, const double*, double*);
template void normalise<double>(const double*, const BatchLayout&, const double*, const double*,
                                const double*, double*);
template void gradient_moments<double>(const double*, const double*, const BatchLayout&,
                                       const double*, double*);
template void input_gradient<double>(const double*, const double*, const BatchLayout&,
                                     const double*, const double*, const double*, const double*,
                                     double*);

}  // namespace lockstep::model
