#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/base/choice.hpp"

namespace lockstep::optim {

struct ScheduleOptions {
  std::string name = "cosine";  ///< a name of schedule_list()
  double lr = 0.1;              ///< peak
  double min_lr = 0;            ///< floor of cosine, linear and plateau
  std::int64_t total_updates = 1;
  std::int64_t warmup_updates = 0;  ///< linear from warmup_start*lr at update 0 up to lr
  double warmup_start = 0;
  std::int64_t step_updates = 0;         ///< of "step": every so many updates times gamma
  std::vector<std::int64_t> milestones;  ///< of "multistep": ascending updates, at each times gamma
  double gamma = 0.1;
  double pct_start = 0.3;         ///< of "onecycle": share of the updates in which the rate rises
  double div_factor = 25;         ///< of "onecycle": lr over the rate at update 0
  double final_div_factor = 1e4;  ///< of "onecycle": rate at update 0 over that of the last update
  std::int64_t patience = 10;     ///< of "plateau": epochs without improvement that are let pass
  double threshold = 1e-4;        ///< of "plateau": what counts as improvement is better by more
  bool lower_is_better = false;   ///< of "plateau": the figure is a loss
};

/// What a schedule remembers between epochs, saved with every checkpoint. Only "plateau" changes
/// it.
struct ScheduleState {
  std::int64_t reductions = 0;  ///< times that the rate was lowered
  std::int64_t bad_epochs = 0;  ///< in a row, since the last improvement or reduction
  std::optional<double> best;   ///< the figure to improve on; none before the first
  friend bool operator==(const ScheduleState&, const ScheduleState&) = default;
};

/// Learning rate of an update, counted from 0, as a pure function of the update counter and the
/// saved state. In the warm-up of W updates lr * (start + (1-start) * update/W), after it
///   constant   lr
///   step       lr * gamma^floor(update / step_updates)
///   multistep  lr * gamma^(number of milestones <= update)
///   cosine     min + (lr-min)(1+cos(pi t))/2 (Loshchilov, Hutter 2017)
///   linear     lr + (min-lr) t
///   plateau    lr * gamma^reductions, not below min
/// with t = (update - W) / (total - W). Without a warm-up, as PyTorch's OneCycleLR in two phases
/// (Smith, Topin 2018):
///   onecycle   half a cosine from lr/div_factor at update 0 up to lr at update pct_start*total - 1
///              (a real number, not below 0), another down to lr/(div_factor*final_div_factor) at
///              the last update
[[nodiscard]] double learning_rate(const ScheduleOptions& options, std::int64_t update,
                                   const ScheduleState& state = {});

/// The state after an epoch whose validation gave `figure`; `updates` of the run are done by then.
/// The rule of PyTorch's ReduceLROnPlateau with an absolute threshold and no cooldown: more than
/// `patience` epochs in a row that do not improve on the best figure by more than `threshold` lower
/// the rate, and the count starts again. Epochs of the warm-up are not counted. Pure: ranks that
/// have the same figure get the same state.
[[nodiscard]] ScheduleState after_epoch(const ScheduleOptions& options, const ScheduleState& state,
                                        std::int64_t updates, double figure);

/// The schedules, in the order of the help, each with the keys that not all of them use.
[[nodiscard]] std::vector<Choice> schedule_list();

/// Throws UsageError on an unknown name or impossible values.
void validate(const ScheduleOptions& options);

}  // namespace lockstep::optim
