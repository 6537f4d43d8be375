#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "build.hpp"
#include "class_report.hpp"
#include "job.hpp"
#include "lockstep/base/build_info.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/config_changes.hpp"
#include "lockstep/base/durable_file.hpp"
#include "lockstep/base/fault.hpp"
#include "lockstep/base/wording.hpp"
#include "lockstep/train/fit.hpp"
#include "run_place.hpp"
#include "training_run.hpp"

namespace lockstep::jobs {
namespace {

std::string record_meta(const RunConfig& config, const train::TrainingState& state,
                        const model::Network& network) {
  nlohmann::ordered_json frozen = nlohmann::ordered_json::array();
  for (const auto& item : network.named_parameters()) {
    if (!item.value().requires_grad()) {
      frozen.push_back(item.key());
    }
  }
  const nlohmann::ordered_json meta = {{"seed", config.run.seed},
                                       {"config", to_text(config)},
                                       {"mean", state.mean},
                                       {"std", state.std},
                                       {"train_set", config.data.train},
                                       {"ranks", state.ranks},
                                       {"classes", state.classes.size()},
                                       {"model", config.model.name},
                                       {"frozen", frozen}};
  return meta.dump(2) + "\n";
}

/// Says on rank 0 what all ranks know. (A warning of another rank is printed with its number.)
void log_plan(JobContext& context, const data::Sampler& sampler,
              const optim::ScheduleOptions& schedule) {
  if (!context.session.world().is_root()) {
    return;
  }
  const RunConfig& config = context.command_line.config;
  const int ranks = context.session.world().size;
  std::ostringstream line;
  line << counted(schedule.total_updates, "update") << " of " << config.train.batch_size
       << " samples (" << sampler.updates_per_epoch() << " per epoch) on "
       << counted(ranks, "rank");
  if (config.train.accumulation > 1) {
    line << ", each accumulated over " << config.train.accumulation
         << " micro-batches: a BatchNorm layer normalises each micro-batch by itself, across ranks";
  }
  context.log.info("train", line.str());
  if (schedule.warmup_updates >= schedule.total_updates) {
    context.log.warning("train", "the whole run is warm-up (" +
                                     counted(schedule.warmup_updates, "update") +
                                     "): the learning rate never comes to optim.lr; set "
                                     "schedule.warmup_epochs=0, or train for longer");
  }
}

/// Scores the best model of a run on the test set.
void score_test_set(JobContext& context, const RunPlace& place, const TrainingData& sets,
                    const train::TrainingState& state, model::Network& network,
                    const data::LoaderOptions& loading, const c10::Device& device) {
  if (state.best_checkpoint.empty()) {
    context.log.warning("train", "the test set is not scored: the folder has no best model");
    return;
  }
  const train::LoadedCheckpoint best = train::load_checkpoint_everywhere(
      context.control, place.path + "/checkpoints/" + state.best_checkpoint);
  train::copy_state(network, best.model);
  const std::int64_t batch = context.command_line.config.train.eval_batch_size;
  train::Evaluator test(*sets.test, all_ids(sets.test->size()), batch, loading, context.control,
                        device);
  report::ConfusionMatrix confusion(static_cast<std::int64_t>(state.classes.size()));
  const report::Scores scores = test.score(network, &confusion);
  context.log.result("train", "test set, with the best model (epoch " +
                                  std::to_string(state.best_epoch) + "): " + scores_text(scores));
  train::require_finite(scores.loss, "the loss on the test set");
  report_classes(context, confusion, state.classes, place.path);
}

/// Warns on rank 0 when the learning rate of the next update is another than the configuration of
/// the checkpoint would have given it: train.epochs alone moves the end of most schedules.
void log_rate_change(JobContext& context, const train::LoadedCheckpoint& from,
                     const train::TrainingState& state, const TrainingPlan& plan) {
  if (!context.session.world().is_root() || state.update >= plan.schedule.total_updates) {
    return;
  }
  const std::int64_t per_epoch = plan.sampler->updates_per_epoch();
  const RunConfig saved =
      config_from_text(from.config_text, from.folder + "/config.cfg", program());
  optim::ScheduleOptions before = schedule_options(saved, per_epoch);
  before.total_updates = total_updates(saved, state, per_epoch);
  const std::int64_t there = std::min(state.update, before.total_updates - 1);
  const double was = optim::learning_rate(before, there, state.schedule);
  const double is = optim::learning_rate(plan.schedule, state.update, state.schedule);
  if (was != is) {
    std::ostringstream line;
    line << "the learning rate goes on at " << is << ", the configuration of before has " << was
         << " there";
    context.log.warning("train", line.str());
  }
}

/// Brings a run to where it begins or goes on; nothing but its log is touched. Collective; failures
/// are agreed.
train::TrainingState begin_state(JobContext& context, RunPlace& place,
                                 const train::TrainingState& fresh, TrainingPlan& plan,
                                 const train::FitOptions& options) {
  train::TrainingState state = fresh;
  comm::agreed_phase(context.control, [&] {
    context.log.add_file(place.path + "/train.log");
    if (place.from) {
      log_warnings(context, place);
      require_fit(context, *place.from, fresh);
      state = restore(place, fresh, *plan.network, *plan.optimizer);
      log_warnings(context, place);
      plan.schedule.total_updates =
          total_updates(context.command_line.config, state, plan.sampler->updates_per_epoch());
      log_rate_change(context, *place.from, state, plan);
      require_whole_epochs(state, options, plan.schedule.total_updates);
      require_more_or_best(place, state, options, plan.schedule.total_updates);
    }
  });
  return state;
}

/// What a run writes beside its checkpoints.
struct Outputs {
  std::unique_ptr<report::MetricsWriter> metrics;  ///< rank 0
  std::optional<train::Recorder> recorder;
};

/// From here on the folder is this run's. Collective; failures are agreed.
Outputs open_outputs(JobContext& context, RunPlace& place, const train::TrainingState& state,
                     const TrainingPlan& plan, const train::FitOptions& options) {
  const RunConfig& config = context.command_line.config;
  Outputs outputs;
  comm::agreed_phase(context.control, [&] {
    outputs.recorder.emplace(config.record.dir, config.record.updates, context.control);
    if (context.session.world().is_root()) {
      replace_durable(place.path + "/config.cfg", to_text(config));
      // The row of an epoch that max_updates cut short belongs to a run that is over.
      const bool cut = state.running.validated &&
                       train::is_finished(state, options, plan.schedule.total_updates);
      outputs.metrics =
          std::make_unique<report::MetricsWriter>(place.path, state.epoch + (cut ? 1 : 0));
    }
  });
  if (place.folder) {
    place.folder->keep();
  }
  return outputs;
}

/// Says what will be trained, where, and on what; `weights` is what was taken of model.weights.
void log_start(JobContext& context, const std::string& folder, const TrainingData& sets,
               const TrainingPlan& plan, const Workplace& place, const std::string& weights) {
  const RunConfig& config = context.command_line.config;
  report::RunLog& log = context.log;
  log.info("run", build_summary());
  log_ignored(context);
  log.info("run",
           "run folder " + folder + ", device " +
               train::device_text(place.choice, place.plan.threads, config.run.deterministic));
  if (context.session.world().is_root() && !place.plan.warning.empty()) {
    log.warning("run", place.plan.warning);
  }
  if (config.run.deterministic && place.device().is_cpu()) {
    log.info("run", "run.deterministic: a CPU always is");
  }
  log_data(context, sets);
  log_plan(context, *plan.sampler, plan.schedule);
  std::istringstream summary(config.model.name + ": " +
                             model::model_summary(*plan.network, plan.optimizer->state_tensors()));
  for (std::string line; std::getline(summary, line);) {
    log.info("model", line);
  }
  if (!weights.empty()) {
    log.info("model", weights);
  }
  if (!config.optim.lr_scale.empty()) {
    log.info("train", "learning rate times " + optim::lr_scales_text(optimizer_options(config),
                                                                     trainable(*plan.network)));
  }
}

}  // namespace

ExitCode run_train(JobContext& context) {
  const RunConfig& config = context.command_line.config;
  std::optional<train::StopSignal> own_stop;
  const train::StopSignal& stop = context.stop != nullptr ? *context.stop : own_stop.emplace();
  comm::Collectives& control = context.control;
  const comm::World& world = context.session.world();
  const FaultPoint fault(config.fault, world.rank);
  report::RunLog& log = context.log;

  const TrainingData sets = open_data(context, fault);
  const Workplace workplace = take_workplace(context, config);
  if (workplace.device().is_cpu()) {
    train::require_equal_cpus(control);
  }
  TrainingPlan plan = make_plan(context, sets, workplace);
  std::string weights_text;  // for the log of the run, which is opened later
  // A run that cannot start leaves no folder behind: it is kept further down.
  RunPlace place = open_run_place(context);
  if (!place.from && !config.model.weights.empty()) {
    weights_text = begin_with_weights(context, *plan.network,
                                      static_cast<std::int64_t>(sets.train->info().classes.size()));
  }
  require_same_network(control, *plan.network);

  const data::LoaderOptions loading =
      loader_options(config, world, sets.train->info().mean, sets.train->info().std);
  std::optional<Machinery> machinery;
  comm::agreed_phase(control, [&] { machinery.emplace(context, sets, plan, workplace, loading); });

  const train::FitOptions options = fit_options(config);
  train::TrainingState state =
      begin_state(context, place, fresh_state(sets, loading, world.size, workplace.plan.threads),
                  plan, options);
  log_start(context, place.path, sets, plan, workplace, weights_text);
  log.debug("train", std::to_string(machinery->reducer.bucket_count()) + " gradient buckets");
  if (place.from) {
    check_probe(context, place, state, machinery->probe, *plan.network);
  }
  Outputs outputs = open_outputs(context, place, state, plan, options);
  if (place.from) {
    take_over_best(context, place, state);
  }
  if (outputs.recorder->active()) {
    outputs.recorder->initial(*plan.network, record_meta(config, state, *plan.network));
  }

  const report::ProgressMode mode =
      world.is_root() ? report::progress_mode(config.run.progress) : report::ProgressMode::kOff;
  train::FitParts parts{.options = options,
                        .control = control,
                        .log = log,
                        .fault = fault,
                        .sampler = *plan.sampler,
                        .loader = machinery->loader,
                        .network = *plan.network,
                        .optimizer = *plan.optimizer,
                        .reducer = machinery->reducer,
                        .trainer = machinery->trainer,
                        .val = machinery->val ? &*machinery->val : nullptr,
                        .probe = machinery->probe,
                        .recorder = *outputs.recorder,
                        .stop = stop,
                        .metrics = outputs.metrics.get(),
                        .checkpoints = place.checkpoints.get(),
                        .folder = place.folder.get(),
                        .progress = report::Progress(mode, config.run.progress_interval),
                        .schedule = plan.schedule,
                        .state = state};
  const train::FitResult result = train::fit(parts);

  if (result.stopped) {
    log.info("train", "stopped on request, saved after " + std::to_string(result.state.update) +
                          " updates; --run.resume auto --run.name " +
                          std::filesystem::path(place.path).filename().string() + " goes on");
    return ExitCode::kStopRequested;
  }
  if (sets.test) {
    score_test_set(context, place, sets, result.state, *plan.network, loading, workplace.device());
  }
  log.info("train", "done: " + std::to_string(result.state.update) + " updates; " +
                        (result.state.best_checkpoint.empty()
                             ? "no best model was kept"
                             : "best model in " + place.path + "/checkpoints/best"));
  return ExitCode::kDone;
}

}  // namespace lockstep::jobs
