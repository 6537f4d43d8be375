#include "lockstep/optim/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lockstep::optim {
namespace {

/// Half a cosine from `from` at t = 0 to `to` at t = 1.
double half_cosine(double from, double to, double t) {
  return to + (from - to) * (1.0 + std::cos(std::numbers::pi * t)) / 2.0;
}

double reduced(const ScheduleOptions& options, std::int64_t times) {
  return options.lr * std::pow(options.gamma, static_cast<double>(times));
}

double one_cycle(const ScheduleOptions& options, std::int64_t update) {
  const double start = options.lr / options.div_factor;
  const double end = start / options.final_div_factor;
  const auto total = static_cast<double>(options.total_updates);
  const auto now = static_cast<double>(update);
  // As PyTorch has it, the peak may lie between two updates.
  const double peak = std::max(options.pct_start * total - 1.0, 0.0);
  if (now < peak) return half_cosine(start, options.lr, now / peak);
  if (now == peak) return options.lr;
  const double last = total - 1.0;
  return now < last ? half_cosine(options.lr, end, (now - peak) / (last - peak)) : end;
}

}  // namespace

double learning_rate(const ScheduleOptions& options, std::int64_t update,
                     const ScheduleState& state) {
  const std::int64_t u = std::max<std::int64_t>(0, update);
  if (options.name == "onecycle") return one_cycle(options, u);
  if (u < options.warmup_updates) {
    const double progress = static_cast<double>(u) / static_cast<double>(options.warmup_updates);
    return options.lr * (options.warmup_start + (1.0 - options.warmup_start) * progress);
  }
  if (options.name == "constant") return options.lr;
  if (options.name == "step") return reduced(options, u / options.step_updates);
  if (options.name == "multistep") {
    const auto& all = options.milestones;
    return reduced(options, std::upper_bound(all.begin(), all.end(), u) - all.begin());
  }
  if (options.name == "plateau") {
    return std::max(reduced(options, state.reductions), options.min_lr);
  }
  // The ends are exact, whatever rounding does to the formulas.
  if (u >= options.total_updates) return options.min_lr;
  if (u == options.warmup_updates) return options.lr;
  const double t = static_cast<double>(u - options.warmup_updates) /
                   static_cast<double>(options.total_updates - options.warmup_updates);
  if (options.name == "linear") return options.lr - (options.lr - options.min_lr) * t;
  return half_cosine(options.lr, options.min_lr, t);
}

ScheduleState after_epoch(const ScheduleOptions& options, const ScheduleState& state,
                          std::int64_t updates, double figure) {
  if (options.name != "plateau") return state;
  ScheduleState next = state;
  const bool better =
      !state.best || (options.lower_is_better ? figure < *state.best - options.threshold
                                              : figure > *state.best + options.threshold);
  if (better) {
    next.best = figure;
    next.bad_epochs = 0;
  } else if (updates > options.warmup_updates) {
    ++next.bad_epochs;
  }
  if (next.bad_epochs > options.patience) {
    ++next.reductions;
    next.bad_epochs = 0;
  }
  return next;
}

}  // namespace lockstep::optim
