#include "run_place.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>

#include "lockstep/base/check.hpp"
#include "lockstep/base/config_changes.hpp"
#include "lockstep/base/wording.hpp"
#include "lockstep/report/lease_watch.hpp"

namespace lockstep::jobs {
namespace {

std::string default_suffix(const RunConfig& config) {
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "_lr%g_b%lld", config.optim.lr,
                static_cast<long long>(config.train.batch_size));
  return config.model.name + text.data();
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += (text.empty() ? "" : "; ") + line;
  }
  return text;
}

/// On rank 0: the folder, and what it says of a checkpoint to go on from.
void open_on_root(const RunConfig& config, const std::string& silent_lease, RunPlace& place) {
  const bool go_on = config.run.resume == kResumeAuto;
  if (!go_on && config.run.resume != kResumeNone) {
    place.from = train::load_checkpoint(config.run.resume, train::LoadParts::kAll);
  }
  place.folder = std::make_unique<report::RunFolder>(
      config.run.root, config.run.name, default_suffix(config),
      go_on ? report::Existing::kGoOn : report::Existing::kRefuse, silent_lease);
  place.path = place.folder->path();
  place.checkpoints = std::make_unique<train::CheckpointStore>(
      place.path + "/checkpoints", config.checkpoint.keep_last, config.checkpoint.keep_every);
  if (go_on) {
    place.from = train::load_newest(*place.checkpoints, place.warnings);
  }
}

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.9g", value);
  return text.data();
}

/// The lease of the folder that another machine has not renewed, on rank 0. Ranks look in slices of
/// time, so that none waits longer for another than it may. Collective.
std::string watch_lease(JobContext& context) {
  constexpr std::chrono::seconds kSlice{1};
  const RunConfig::Run& run = context.command_line.config.run;
  comm::Collectives& control = context.control;
  std::optional<report::LeaseWatch> watch;
  if (control.world().is_root()) {
    watch.emplace((std::filesystem::path(run.root) / run.name).string());
  }
  for (std::int64_t unsure = 1; unsure > 0;) {
    unsure = watch && watch->look(kSlice) == report::LeaseWatch::Finding::kUnknown ? 1 : 0;
    unsure = control.max(unsure);
  }
  return watch ? watch->silent() : std::string();
}

}  // namespace

RunPlace open_run_place(JobContext& context) {
  comm::Collectives& control = context.control;
  RunPlace place;
  const bool go_on = context.command_line.config.run.resume == kResumeAuto;
  const std::string silent_lease = go_on ? watch_lease(context) : std::string();
  comm::agreed_phase(control, [&] {
    if (control.world().is_root()) {
      open_on_root(context.command_line.config, silent_lease, place);
    }
  });
  place.path = control.broadcast(place.path);
  if (control.max(std::int64_t{place.from ? 1 : 0}) > 0) {
    if (!place.from) {
      place.from.emplace();
    }
    train::broadcast_checkpoint(control, *place.from);
  }
  return place;
}

void require_fit(JobContext& context, const train::LoadedCheckpoint& from,
                 const train::TrainingState& fresh) {
  const bool inside_epoch = from.state.running.updates > 0;
  const RunConfig saved =
      config_from_text(from.config_text, from.folder + "/config.cfg", program());
  const ConfigChanges changes = compare_configs(saved, context.command_line.config, inside_epoch);
  if (!changes.refused.empty()) {
    throw UsageError("the run cannot go on from '" + from.folder + "'",
                     "changed since then: " + joined(changes.refused),
                     "change it back, or begin a new run under another run.name");
  }
  const std::string another = "data.train is another set than it was trained on: ";
  const std::string set_problem =
      fresh.classes != from.state.classes             ? another + "its classes are others"
      : fresh.train_set_id != from.state.train_set_id ? another + "its contents are others"
      : fresh.train_samples != from.state.train_samples
          ? "data.train is split otherwise into training and validation"
          : "";
  if (!set_problem.empty()) {
    throw UsageError("the run cannot go on from '" + from.folder + "'", set_problem,
                     "give the sets of before; to begin with its weights alone, on other pictures, "
                     "use model.weights in place of run.resume");
  }
  if (!context.session.world().is_root()) {
    return;
  }
  report::RunLog& log = context.log;
  if (!changes.free.empty()) {
    log.info("run", "changed since the checkpoint: " + joined(changes.free));
  }
  if (!changes.warned.empty()) {
    log.warning("run", "changed since the checkpoint, from here on it is another run: " +
                           joined(changes.warned));
  }
  const auto place_of = [](const train::TrainingState& state) {
    return std::to_string(state.ranks) + " ranks, " + std::to_string(state.threads) + " threads, " +
           state.cpu_capability;
  };
  if (place_of(fresh) != place_of(from.state)) {
    log.info("run", "the checkpoint was made on " + place_of(from.state) + ", the run goes on on " +
                        place_of(fresh) + ": equal to rounding, not bit for bit");
  }
}

train::TrainingState restore(RunPlace& place, const train::TrainingState& fresh,
                             model::Network& network, optim::Optimizer& optimizer) {
  train::LoadedCheckpoint& from = *place.from;
  train::copy_state(network, from.model);
  optimizer.load(from.optimizer, from.optimizer_steps);
  from.model.clear();  // held twice else, to the end of the run
  from.optimizer.clear();
  train::TrainingState state = fresh;
  state.epoch = from.state.epoch;
  state.update = from.state.update;
  state.running = from.state.running;
  state.best_score = from.state.best_score;
  state.best_epoch = from.state.best_epoch;
  state.best_checkpoint = from.state.best_checkpoint;
  state.schedule = from.state.schedule;
  if (fresh.val_set_id != from.state.val_set_id) {
    if (place.folder) {
      place.warnings.emplace_back(
          "data.val is another set than before: the best model is chosen anew from here on");
    }
    state.best_score.reset();
    state.best_epoch = 0;
    state.best_checkpoint.clear();
    state.schedule.best.reset();  // what was lowered stays so
    state.schedule.bad_epochs = 0;
  }
  state.probe_loss = from.state.probe_loss;
  return state;
}

void log_warnings(JobContext& context, RunPlace& place) {
  for (const std::string& warning : place.warnings) {
    context.log.warning("run", warning);
  }
  place.warnings.clear();
}

void require_whole_epochs(const train::TrainingState& state, const train::FitOptions& options,
                          std::int64_t total_updates) {
  if (state.running.updates > 0 && !state.running.validated &&
      train::is_finished(state, options, total_updates)) {
    throw UsageError("the run would end inside an epoch that was not validated",
                     std::to_string(state.update) +
                         " updates are done; train.epochs, train.max_updates or "
                         "train.early_stopping asks for no more",
                     "let it go on to the end of the epoch at least");
  }
}

void require_more_or_best(const RunPlace& place, const train::TrainingState& state,
                          const train::FitOptions& options, std::int64_t total_updates) {
  if (!place.checkpoints || !train::is_finished(state, options, total_updates) ||
      place.checkpoints->holds(state.best_checkpoint)) {
    return;
  }
  throw UsageError("there is nothing left to train, and no best model to keep",
                   "all updates are done, and the best model of before was chosen on another "
                   "data.val, lies in another folder or is damaged",
                   "raise train.epochs, or evaluate the checkpoint itself");
}

void check_probe(JobContext& context, const RunPlace& place, const train::TrainingState& state,
                 train::Evaluator& probe, model::Network& network) {
  context.log.info("run", "goes on from " + place.from->folder + ": " +
                              counted(state.epoch, "whole epoch") + ", " +
                              counted(state.update, "update") + " in all");
  // Devices and instruction sets add in another order; anything beyond is another model.
  constexpr double kRounding = 1e-3;
  const double loss = probe.score(network).loss;
  if (!state.probe_loss) {
    if (context.session.world().is_root()) {
      context.log.warning("run", "the loss of the probe pictures was not finite when it was saved");
    }
    return;
  }
  const double saved = *state.probe_loss;
  const std::string both = number(loss) + ", saved " + number(saved);
  if (!(std::abs(loss - saved) <= kRounding * std::max(1.0, std::abs(saved)))) {
    throw comm::AgreedError(
        "the model is not the one that was saved (the loss of the probe pictures is " + both +
            ") - use the program, the training set and the device of before, or begin a new run",
        ExitCode::kFailed, 0);
  }
  context.log.info("run", "loss of the probe pictures " + both +
                              (loss == saved ? ": equal" : ": equal to rounding"));
}

void take_over_best(JobContext& context, RunPlace& place, train::TrainingState& state) {
  comm::Collectives& control = context.control;
  if (state.running.validated && state.best_epoch == state.epoch + 1 && control.world().is_root()) {
    context.log.warning("run",
                        "train.max_updates had cut the epoch that goes on now, and its model of "
                        "then stays the best until a better one comes; train.stop_after_updates "
                        "makes slices without that");
  }
  std::int64_t best_is_there = 0;
  comm::agreed_phase(control, [&] {
    if (place.checkpoints) {
      if (context.command_line.config.run.resume == kResumeAuto) {
        place.checkpoints->restore_latest(
            std::filesystem::path(place.from->folder).filename().string());
      }
      best_is_there = place.checkpoints->restore_best(state.best_checkpoint) ? 1 : 0;
    }
  });
  if (control.max(best_is_there) == 0 && !state.best_checkpoint.empty()) {
    if (control.world().is_root()) {
      context.log.warning("run", "the best model so far, " + state.best_checkpoint +
                                     ", is damaged or not in this run's folder: the best is "
                                     "chosen anew");
    }
    state.best_checkpoint.clear();
    state.best_score.reset();
    state.best_epoch = 0;
  }
}

}  // namespace lockstep::jobs
