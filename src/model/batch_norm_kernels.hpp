#pragma once

#include <cstdint>

namespace lockstep::model {

/// How a batch lies in memory: element i of (row, channel) at (row * channels + channel) * inner +
/// i. channels_last and [n, C]: inner = 1; contiguous [n, C, H, W]: rows = n, inner = H * W.
struct BatchLayout {
  std::int64_t rows = 0;
  std::int64_t channels = 0;
  std::int64_t inner = 1;
  [[nodiscard]] std::int64_t values_per_channel() const noexcept { return rows * inner; }
};

// T is float or double. Sums are float64 in an order that depends on the layout alone, not on the
// number of threads. Pointers per channel hold layout.channels elements.

/// sums[c] = sum(x - shift[c]), sums[C + c] = sum((x - shift[c])^2).
template <typename T>
void channel_moments(const T* x, const BatchLayout& layout, const double* shift, double* sums);

/// y = (x - centre) * scale + offset. Subtracting first keeps the digits of a batch whose mean is
/// large against its deviation.
template <typename T>
void normalise(const T* x, const BatchLayout& layout, const T* centre, const T* scale,
               const T* offset, T* y);

/// sums[c] = sum(dy), sums[C + c] = sum(dy * (x - centre[c])); centre is near the mean of x.
template <typename T>
void gradient_moments(const T* dy, const T* x, const BatchLayout& layout, const T* centre,
                      double* sums);

/// dx = scale * dy + slope * (x - centre) + offset.
template <typename T>
void input_gradient(const T* dy, const T* x, const BatchLayout& layout, const T* centre,
                    const T* scale, const T* slope, const T* offset, T* dx);

}  // namespace lockstep::model
