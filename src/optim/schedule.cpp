#include "lockstep/optim/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>

#include "lockstep/base/check.hpp"

namespace lockstep::optim {
namespace {

void require_value(bool holds, std::string_view key, double value, std::string_view range) {
  if (holds) return;
  throw UsageError(std::string(key) + " cannot be " + std::to_string(value), "impossible schedule",
                   "choose " + std::string(range));
}

}  // namespace

double learning_rate(const ScheduleOptions& options, std::int64_t update) {
  const std::int64_t u = std::max<std::int64_t>(0, update);
  if (u < options.warmup_updates) {
    const double progress = static_cast<double>(u) / static_cast<double>(options.warmup_updates);
    return options.lr * (options.warmup_start + (1.0 - options.warmup_start) * progress);
  }
  if (options.name == "constant") return options.lr;
  if (options.name == "step") {
    const std::int64_t steps = u / options.step_updates;
    return options.lr * std::pow(options.gamma, static_cast<double>(steps));
  }
  // The ends are exact, whatever rounding does to the formulas.
  if (u >= options.total_updates) return options.min_lr;
  if (u == options.warmup_updates) return options.lr;
  const double t = static_cast<double>(u - options.warmup_updates) /
                   static_cast<double>(options.total_updates - options.warmup_updates);
  const double range = options.lr - options.min_lr;
  if (options.name == "linear") return options.lr - range * t;
  return options.min_lr + range * (1.0 + std::cos(std::numbers::pi * t)) / 2.0;
}

std::vector<Choice> schedule_list() {
  return {{"constant", "stays at optim.lr"},
          {"step", "falls in steps", {"schedule.step_epochs", "schedule.gamma"}},
          {"cosine", "half a cosine down to schedule.min_lr", {"schedule.min_lr"}},
          {"linear", "a straight line down to schedule.min_lr", {"schedule.min_lr"}}};
}

void validate(const ScheduleOptions& options) {
  const std::vector<std::string> names = choice_names(schedule_list());
  if (std::find(names.begin(), names.end(), options.name) == names.end()) {
    const std::string nearest = nearest_name(options.name, names);
    throw UsageError("unknown schedule.name \"" + options.name + "\"", "no such schedule",
                     nearest.empty() ? "choose one of constant step cosine linear"
                                     : "did you mean \"" + nearest + "\"?");
  }
  const auto count = [](std::int64_t value) { return static_cast<double>(value); };
  require_value(std::isfinite(options.lr) && options.lr >= 0, "optim.lr", options.lr,
                "a number from 0");
  require_value(options.total_updates >= 1, "the number of updates", count(options.total_updates),
                "at least 1: more samples, or more epochs");
  require_value(options.warmup_updates >= 0, "the warm-up", count(options.warmup_updates),
                "a number of updates from 0");
  require_value(options.warmup_start >= 0 && options.warmup_start <= 1, "schedule.warmup_start",
                options.warmup_start, "a factor in [0, 1]");
  if (options.name == "cosine" || options.name == "linear") {
    require_value(options.min_lr >= 0 && options.min_lr <= options.lr, "schedule.min_lr",
                  options.min_lr, "a number from 0 to optim.lr");
  }
  if (options.name == "step") {
    require_value(options.step_updates >= 1, "the updates between two steps",
                  count(options.step_updates), "at least 1");
    require_value(options.gamma > 0 && options.gamma <= 1, "schedule.gamma", options.gamma,
                  "a factor in (0, 1]");
  }
}

}  // namespace lockstep::optim
