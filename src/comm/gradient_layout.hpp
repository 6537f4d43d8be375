#pragma once

#include <torch/types.h>

#include <cstddef>
#include <vector>

namespace lockstep::comm {

/// Which parameters share a bucket: indices into `bytes` (the size of each parameter), from the
/// last one, whose gradient comes first, to the first. A bucket takes parameters until the next one
/// would pass its limit, and at least one.
[[nodiscard]] std::vector<std::vector<std::size_t>> bucket_layout(
    const std::vector<std::size_t>& bytes, std::size_t first_limit, std::size_t limit);

/// True when `gradient` is the view of `flat` at `offset` with the strides of `parameter`.
[[nodiscard]] bool is_view_of(const at::Tensor& gradient, const at::Tensor& parameter,
                              const at::Tensor& flat, std::int64_t offset);

/// Sum of squares in float64. On a CPU its bits do not depend on the number of threads.
[[nodiscard]] double sum_of_squares(const at::Tensor& flat);

}  // namespace lockstep::comm
