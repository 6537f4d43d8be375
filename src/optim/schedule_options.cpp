#include <algorithm>
#include <cmath>
#include <string_view>

#include "lockstep/base/check.hpp"
#include "lockstep/optim/schedule.hpp"

namespace lockstep::optim {
namespace {

void require_value(bool holds, std::string_view key, double value, std::string_view range) {
  if (holds) return;
  throw UsageError(std::string(key) + " cannot be " + std::to_string(value), "impossible schedule",
                   "choose " + std::string(range));
}

double count(std::int64_t value) { return static_cast<double>(value); }

void require_name(const std::string& name) {
  const std::vector<std::string> names = choice_names(schedule_list());
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  const std::string nearest = nearest_name(name, names);
  std::string all;
  for (const std::string& known : names) all += " " + known;
  throw UsageError("unknown schedule.name \"" + name + "\"", "no such schedule",
                   nearest.empty() ? "choose one of" + all : "did you mean \"" + nearest + "\"?");
}

void require_gamma(const ScheduleOptions& options) {
  require_value(options.gamma > 0 && options.gamma <= 1, "schedule.gamma", options.gamma,
                "a factor in (0, 1]");
}

void require_min_lr(const ScheduleOptions& options) {
  require_value(options.min_lr >= 0 && options.min_lr <= options.lr, "schedule.min_lr",
                options.min_lr, "a number from 0 to optim.lr");
}

void require_milestones(const ScheduleOptions& options) {
  if (options.milestones.empty()) {
    throw UsageError("schedule.name=multistep has no step", "schedule.milestones is empty",
                     "give the epochs at which the rate falls, as in schedule.milestones=15,25");
  }
  if (!std::is_sorted(options.milestones.begin(), options.milestones.end())) {
    throw UsageError("schedule.milestones is not ascending", "a later one comes first",
                     "give the epochs in their order");
  }
}

void require_one_cycle(const ScheduleOptions& options) {
  if (options.warmup_updates > 0) {
    throw UsageError("schedule.name=onecycle takes no warm-up", "it rises to optim.lr by itself",
                     "set schedule.warmup_epochs=0; schedule.pct_start says how long it rises");
  }
  require_value(options.pct_start >= 0 && options.pct_start <= 1, "schedule.pct_start",
                options.pct_start, "a share in [0, 1]");
  require_value(options.div_factor > 0, "schedule.div_factor", options.div_factor,
                "a number above 0");
  require_value(options.final_div_factor > 0, "schedule.final_div_factor", options.final_div_factor,
                "a number above 0");
}

}  // namespace

std::vector<Choice> schedule_list() {
  const std::string warmup = "schedule.warmup_epochs";
  const std::string start = "schedule.warmup_start";
  const std::string gamma = "schedule.gamma";
  const std::string min_lr = "schedule.min_lr";
  return {
      {"constant", "stays at optim.lr", {warmup, start}},
      {"step", "falls in equal steps", {"schedule.step_epochs", gamma, warmup, start}},
      {"cosine", "half a cosine down to schedule.min_lr", {min_lr, warmup, start}},
      {"linear", "a straight line down to schedule.min_lr, 0 unless set", {min_lr, warmup, start}},
      {"multistep",
       "falls at the epochs of schedule.milestones",
       {"schedule.milestones", gamma, warmup, start}},
      {"onecycle",
       "up and down again in one cycle (Smith, Topin 2018)",
       {"schedule.pct_start", "schedule.div_factor", "schedule.final_div_factor"}},
      {"plateau",
       "falls when validation no longer gets better",
       {"schedule.patience", "schedule.threshold", gamma, min_lr, warmup, start}}};
}

void validate(const ScheduleOptions& options) {
  require_name(options.name);
  require_value(std::isfinite(options.lr) && options.lr >= 0, "optim.lr", options.lr,
                "a number from 0");
  require_value(options.total_updates >= 1, "the number of updates", count(options.total_updates),
                "at least 1: more samples, or more epochs");
  require_value(options.warmup_updates >= 0, "the warm-up", count(options.warmup_updates),
                "a number of updates from 0");
  require_value(options.warmup_start >= 0 && options.warmup_start <= 1, "schedule.warmup_start",
                options.warmup_start, "a factor in [0, 1]");
  if (options.name == "cosine" || options.name == "linear") {
    require_min_lr(options);
  } else if (options.name == "step") {
    require_value(options.step_updates >= 1, "the updates between two steps",
                  count(options.step_updates), "at least 1");
    require_gamma(options);
  } else if (options.name == "multistep") {
    require_milestones(options);
    require_gamma(options);
  } else if (options.name == "onecycle") {
    require_one_cycle(options);
  } else if (options.name == "plateau") {
    require_value(options.patience >= 0, "schedule.patience", count(options.patience),
                  "a number of epochs from 0");
    require_value(options.threshold >= 0, "schedule.threshold", options.threshold,
                  "a number from 0");
    require_gamma(options);
    require_min_lr(options);
  }
}

}  // namespace lockstep::optim
