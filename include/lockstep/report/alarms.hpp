#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::report {

/// The range in which the gradient norm of an update raises no alarm; 0 turns a bound off.
struct GradNormBounds {
  double low = 0;
  double high = 0;
};

/// Watches the gradient norms of one epoch.
class GradNormAlarm {
 public:
  explicit GradNormAlarm(const GradNormBounds& bounds = {}) : bounds_(bounds) {}
  /// The warning when `norm` is the first of the epoch below the low bound, or above the high one;
  /// else "". `update` is counted from 1.
  [[nodiscard]] std::string note(std::int64_t update, double norm);
  /// Updates noted so far whose norm was below the low bound.
  [[nodiscard]] std::int64_t below() const noexcept { return below_; }
  /// Updates noted so far whose norm was above the high bound.
  [[nodiscard]] std::int64_t above() const noexcept { return above_; }

 private:
  GradNormBounds bounds_;
  std::int64_t below_ = 0;
  std::int64_t above_ = 0;
};

/// Whether memory, in MiB after each epoch, keeps rising: it grew in each of the last 5 epochs, and
/// over them by more than 5 % and by more than 64 MiB.
[[nodiscard]] bool keeps_rising(const std::vector<double>& mib);

/// Watches the memory of a run.
class MemoryAlarm {
 public:
  /// The warning when memory keeps rising, once in a run; else "".
  [[nodiscard]] std::string note(double mib);

 private:
  std::vector<double> seen_;
  bool told_ = false;
};

}  // namespace lockstep::report
