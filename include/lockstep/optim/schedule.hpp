#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/base/choice.hpp"

namespace lockstep::optim {

struct ScheduleOptions {
  std::string name = "cosine";  ///< constant | step | cosine | linear
  double lr = 0.1;              ///< peak
  double min_lr = 0;            ///< floor of cosine and linear
  std::int64_t total_updates = 1;
  std::int64_t warmup_updates = 0;  ///< linear from warmup_start*lr at update 0 up to lr
  double warmup_start = 0;
  std::int64_t step_updates = 0;  ///< of "step": every so many updates times gamma
  double gamma = 0.1;
};

/// Learning rate of an update as a pure function of the update counter. After the warm-up of W
/// updates, t = (update - W) / (total - W): cosine min + (lr-min)(1+cos(pi t))/2 (Loshchilov,
/// Hutter 2017), linear lr + (min-lr) t, step lr*gamma^floor((update)/step_updates). In the warm-up
/// lr * (start + (1-start) * update/W).
[[nodiscard]] double learning_rate(const ScheduleOptions& options, std::int64_t update);

/// The schedules, in the order of the help, each with the keys that not all of them use.
[[nodiscard]] std::vector<Choice> schedule_list();

/// Throws UsageError on an unknown name or impossible values.
void validate(const ScheduleOptions& options);

}  // namespace lockstep::optim
