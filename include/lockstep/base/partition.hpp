#pragma once

#include <cstdint>

namespace lockstep {

/// A half-open range of positions [begin, end).
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] constexpr std::int64_t size() const noexcept { return end - begin; }
  bool operator==(const Range&) const = default;
};

/// Part `part` of `parts` of `whole`: [floor(part*n/parts), floor((part+1)*n/parts)) with n =
/// whole.size(), moved to whole.begin. The parts are disjoint, cover the whole, and differ in size
/// by at most one. The only cut in the project: updates into micro-batches, micro-batches into
/// ranks, evaluation into ranks.
[[nodiscard]] constexpr Range part_of(Range whole, std::int64_t part, std::int64_t parts) noexcept {
  const std::int64_t n = whole.size();
  return {whole.begin + part * n / parts, whole.begin + (part + 1) * n / parts};
}

}  // namespace lockstep
