#include "gradient_layout.hpp"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace lockstep::comm {
namespace {

constexpr std::int64_t kBlock = 4096;

/// Independent partial sums let the compiler use vector registers without changing any order.
template <typename T>
double block_sum_of_squares(const T* values, std::int64_t count) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> lanes{};
  std::int64_t i = 0;
  for (; i + static_cast<std::int64_t>(kLanes) <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const auto value = static_cast<double>(values[i + static_cast<std::int64_t>(lane)]);
      lanes[lane] += value * value;
    }
  }
  double rest = 0;
  for (; i < count; ++i) rest += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  return std::accumulate(lanes.begin(), lanes.end(), rest);
}

template <typename T>
double blocked_sum_of_squares(const T* values, std::int64_t count) {
  std::vector<double> sums(static_cast<std::size_t>((count + kBlock - 1) / kBlock));
  at::parallel_for(
      0, static_cast<std::int64_t>(sums.size()), 16, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t b = begin; b < end; ++b) {
          sums[static_cast<std::size_t>(b)] =
              block_sum_of_squares(values + b * kBlock, std::min(kBlock, count - b * kBlock));
        }
      });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace

std::vector<std::vector<std::size_t>> bucket_layout(const std::vector<std::size_t>& bytes,
                                                    std::size_t first_limit, std::size_t limit) {
  std::vector<std::vector<std::size_t>> buckets;
  std::size_t used = 0;
  for (std::size_t index = bytes.size(); index-- > 0;) {
    const std::size_t allowed = buckets.size() <= 1 ? first_limit : limit;
    if (buckets.empty() || used + bytes[index] > allowed) {
      buckets.emplace_back();
      used = 0;
    }
    buckets.back().push_back(index);
    used += bytes[index];
  }
  return buckets;
}

bool is_view_of(const at::Tensor& gradient, const at::Tensor& parameter, const at::Tensor& flat,
                std::int64_t offset) {
  return gradient.defined() && gradient.is_alias_of(flat) && gradient.storage_offset() == offset &&
         gradient.sizes() == parameter.sizes() && gradient.strides() == parameter.strides();
}

double sum_of_squares(const at::Tensor& flat) {
  if (!flat.is_cpu()) return flat.to(at::kDouble).square().sum().item<double>();
  if (flat.scalar_type() == at::kDouble) {
    return blocked_sum_of_squares(flat.const_data_ptr<double>(), flat.numel());
  }
  return blocked_sum_of_squares(flat.const_data_ptr<float>(), flat.numel());
}

}  // namespace lockstep::comm
