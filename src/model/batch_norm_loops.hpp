#pragma once

#include <cstdint>

#include "simd_clones.hpp"

// The innermost loops of batch normalisation, single-threaded. "rows": one value per row and
// channel, constants per channel (channels_last). "plane": many values of one channel (contiguous).
namespace lockstep::model::loops {

constexpr std::int64_t kUnroll = 4;  // rows per pass over the accumulators

template <typename T>
static LOCKSTEP_SIMD_CLONES void moments_rows(const T* __restrict x, std::int64_t rows,
                                              std::int64_t channels, const double* __restrict shift,
                                              double* __restrict sum, double* __restrict square) {
  std::int64_t r = 0;
  for (; r + kUnroll <= rows; r += kUnroll, x += kUnroll * channels) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const double d0 = x[c] - shift[c];
      const double d1 = x[channels + c] - shift[c];
      const double d2 = x[2 * channels + c] - shift[c];
      const double d3 = x[3 * channels + c] - shift[c];
      sum[c] += (d0 + d1) + (d2 + d3);
      square[c] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3);
    }
  }
  for (; r < rows; ++r, x += channels) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const double d = x[c] - shift[c];
      sum[c] += d;
      square[c] += d * d;
    }
  }
}

// Four terms are added in T, groups of four in float64: the terms are centred, so a group loses no
// more than the rounding of its inputs, and a quarter of the conversions to float64 is left.
template <typename T>
static LOCKSTEP_SIMD_CLONES void gradient_rows(const T* __restrict dy, const T* __restrict x,
                                               std::int64_t rows, std::int64_t channels,
                                               const T* __restrict centre, double* __restrict sum,
                                               double* __restrict product) {
  std::int64_t r = 0;
  for (; r + kUnroll <= rows; r += kUnroll, x += kUnroll * channels, dy += kUnroll * channels) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const T g0 = dy[c];
      const T g1 = dy[channels + c];
      const T g2 = dy[2 * channels + c];
      const T g3 = dy[3 * channels + c];
      const T p0 = g0 * (x[c] - centre[c]);
      const T p1 = g1 * (x[channels + c] - centre[c]);
      const T p2 = g2 * (x[2 * channels + c] - centre[c]);
      const T p3 = g3 * (x[3 * channels + c] - centre[c]);
      sum[c] += (g0 + g1) + (g2 + g3);
      product[c] += (p0 + p1) + (p2 + p3);
    }
  }
  for (; r < rows; ++r, x += channels, dy += channels) {
    for (std::int64_t c = 0; c < channels; ++c) {
      sum[c] += dy[c];
      product[c] += dy[c] * (x[c] - centre[c]);
    }
  }
}

template <typename T>
static LOCKSTEP_SIMD_CLONES void normalise_rows(const T* __restrict x, std::int64_t rows,
                                                std::int64_t channels, const T* __restrict centre,
                                                const T* __restrict scale,
                                                const T* __restrict offset, T* __restrict y) {
  for (std::int64_t r = 0; r < rows; ++r, x += channels, y += channels) {
    for (std::int64_t c = 0; c < channels; ++c) {
      y[c] = (x[c] - centre[c]) * scale[c] + offset[c];
    }
  }
}

template <typename T>
static LOCKSTEP_SIMD_CLONES void input_gradient_rows(const T* __restrict dy, const T* __restrict x,
                                                     std::int64_t rows, std::int64_t channels,
                                                     const T* __restrict centre,
                                                     const T* __restrict scale,
                                                     const T* __restrict slope,
                                                     const T* __restrict offset, T* __restrict dx) {
  for (std::int64_t r = 0; r < rows; ++r, x += channels, dy += channels, dx += channels) {
    for (std::int64_t c = 0; c < channels; ++c) {
      dx[c] = scale[c] * dy[c] + (slope[c] * (x[c] - centre[c]) + offset[c]);
    }
  }
}

// A sum over one plane needs several accumulators to be vectorised without reordering by the
// compiler: lane j adds the elements whose index is j modulo kLanes.
constexpr std::int64_t kLanes = 16;

inline double fold(const double* lanes) {
  double width8[8];
  for (int j = 0; j < 8; ++j) width8[j] = lanes[j] + lanes[j + 8];
  return ((width8[0] + width8[4]) + (width8[2] + width8[6])) +
         ((width8[1] + width8[5]) + (width8[3] + width8[7]));
}

template <typename T>
static LOCKSTEP_SIMD_CLONES void moments_plane(const T* __restrict x, std::int64_t size,
                                               double shift, double* __restrict sum,
                                               double* __restrict square) {
  double s[kLanes] = {};
  double q[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (std::int64_t j = 0; j < kLanes; ++j) {
      const double d = x[i + j] - shift;
      s[j] += d;
      q[j] += d * d;
    }
  }
  for (std::int64_t j = 0; i < size; ++i, ++j) {
    const double d = x[i] - shift;
    s[j] += d;
    q[j] += d * d;
  }
  *sum += fold(s);
  *square += fold(q);
}

template <typename T>
static LOCKSTEP_SIMD_CLONES void gradient_plane(const T* __restrict dy, const T* __restrict x,
                                                std::int64_t size, T centre, double* __restrict sum,
                                                double* __restrict product) {
  double s[kLanes] = {};
  double p[kLanes] = {};
  constexpr std::int64_t kGroup = kUnroll * kLanes;
  std::int64_t i = 0;
  for (; i + kGroup <= size; i += kGroup) {
    const T* g = dy + i;
    const T* v = x + i;
    for (std::int64_t j = 0; j < kLanes; ++j) {
      const T g0 = g[j];
      const T g1 = g[kLanes + j];
      const T g2 = g[2 * kLanes + j];
      const T g3 = g[3 * kLanes + j];
      s[j] += (g0 + g1) + (g2 + g3);
      p[j] += (g0 * (v[j] - centre) + g1 * (v[kLanes + j] - centre)) +
              (g2 * (v[2 * kLanes + j] - centre) + g3 * (v[3 * kLanes + j] - centre));
    }
  }
  for (; i + kLanes <= size; i += kLanes) {
    for (std::int64_t j = 0; j < kLanes; ++j) {
      s[j] += dy[i + j];
      p[j] += dy[i + j] * (x[i + j] - centre);
    }
  }
  for (std::int64_t j = 0; i < size; ++i, ++j) {
    s[j] += dy[i];
    p[j] += dy[i] * (x[i] - centre);
  }
  *sum += fold(s);
  *product += fold(p);
}

template <typename T>
static LOCKSTEP_SIMD_CLONES void normalise_plane(const T* __restrict x, std::int64_t size, T centre,
                                                 T scale, T offset, T* __restrict y) {
  for (std::int64_t i = 0; i < size; ++i) y[i] = (x[i] - centre) * scale + offset;
}

template <typename T>
static LOCKSTEP_SIMD_CLONES void input_gradient_plane(const T* __restrict dy, const T* __restrict x,
                                                      std::int64_t size, T centre, T scale, T slope,
                                                      T offset, T* __restrict dx) {
  for (std::int64_t i = 0; i < size; ++i) {
    dx[i] = scale * dy[i] + (slope * (x[i] - centre) + offset);
  }
}

}  // namespace lockstep::model::loops
