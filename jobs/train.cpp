#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/types.h>

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
#include "lockstep/base/durable_file.hpp"
#include "lockstep/base/fault.hpp"
#include "lockstep/base/wording.hpp"
#include "lockstep/train/device.hpp"
#include "lockstep/train/fit.hpp"
#include "lockstep/train/initial_weights.hpp"
#include "run_place.hpp"
#include "training_data.hpp"

namespace lockstep::jobs {
namespace {

std::vector<optim::NamedParameter> trainable(const model::Network& network) {
  std::vector<optim::NamedParameter> parameters;
  for (const auto& item : network.named_parameters()) {
    if (item.value().requires_grad()) {
      parameters.emplace_back(item.key(), item.value());
    }
  }
  return parameters;
}

std::string shapes_text(const model::Network& network) {
  std::ostringstream text;
  for (const auto& [name, tensor] : train::state_of(network)) {
    text << name << tensor.sizes() << tensor.scalar_type() << '\n';
  }
  return text.str();
}

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
}

/// A network that cannot train on a single sample (BatchNorm over one value per channel) would
/// otherwise say so at the end of the first epoch.
void require_one_sample_fits(const RunConfig& config, const InputShape& input) {
  const auto alone = comm::make_serial_collectives();
  const auto network = build_network(config, input, c10::Device(c10::kCPU), *alone);
  const at::Tensor image =
      at::zeros({1, 3, input.height, input.width}, network->parameters().front().scalar_type());
  const std::int64_t id = 0;
  const torch::NoGradGuard no_grad;
  try {
    network->forward(image, {model::Phase::kTrain, config.run.seed, 0, &id});
  } catch (const Error& error) {
    const std::string why = error.what();
    throw UsageError("a micro-batch of one sample cannot be trained on",
                     why.substr(0, why.find(" - ")),
                     "the last update of an epoch has the samples that are left over: set "
                     "data.drop_last=true, another train.batch_size, or less accumulation");
  }
}

/// Begins with the weights of model.weights; what was taken, for the log.
std::string begin_with_weights(JobContext& context, model::Network& network, std::int64_t classes) {
  const RunConfig::Model& model = context.command_line.config.model;
  const train::WeightsFile weights = train::read_weights_everywhere(context.control, model.weights);
  train::WeightsMatch match;
  comm::agreed_phase(context.control, [&] {
    match = train::load_weights(network, weights.tensors, classes, model.weights_strict);
  });
  const std::string note = weights.note.empty() ? "" : " (" + weights.note + ")";
  return "weights of '" + model.weights + "'" + note + ": " + train::match_text(match);
}

/// What is known of a run before its first update.
train::TrainingState fresh_state(const InputShape& input, const data::ShardSet& set,
                                 const data::LoaderOptions& loading, int ranks, int threads) {
  train::TrainingState state;
  state.classes = input.classes;
  state.height = input.height;
  state.width = input.width;
  state.mean = loading.augmentation.mean;
  state.std = loading.augmentation.std;
  state.packed = set.info().packed;
  state.train_set_id = set.info().set_id;
  state.ranks = ranks;
  state.threads = threads;
  state.cpu_capability = at::get_cpu_capability();
  return state;
}

/// A few samples from all over a set.
std::vector<std::int64_t> probe_ids(std::int64_t samples) {
  constexpr std::int64_t kProbes = 64;
  const std::int64_t count = std::min(samples, kProbes);
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < count; ++i) {
    ids.push_back(i * samples / count);
  }
  return ids;
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

}  // namespace

ExitCode run_train(JobContext& context) {
  const RunConfig& config = context.command_line.config;
  const train::StopSignal stop;  // a signal from here on is followed at the first update
  comm::Collectives& control = context.control;
  const comm::World& world = context.session.world();
  const FaultPoint fault(config.fault, world.rank);
  report::RunLog& log = context.log;

  const TrainingData sets = open_data(context, fault);
  const InputShape input = shape_of(*sets.train);

  const train::DeviceChoice device = train::choose_device(config.run.device, control);
  train::choose_kernels(device.device, config.run.deterministic);
  if (device.device.is_cpu()) {
    train::require_equal_cpus(control);
  }
  const train::ThreadPlan plan = train::plan_threads(config.run.threads, control);
  at::set_num_threads(plan.threads);
  const train::TrainingCollectives collectives = train::make_training_collectives(
      device.device, context.session, control, config.comm.timeout);

  std::shared_ptr<model::Network> network;
  std::unique_ptr<optim::Optimizer> optimizer;
  std::optional<data::Sampler> sampler;
  optim::ScheduleOptions schedule;
  comm::agreed_phase(control, [&] {
    network = build_network(config, input, device.device, collectives.batch_norm());
    optimizer = optim::make_optimizer(optimizer_options(config), trainable(*network));
    sampler = make_sampler(config, static_cast<std::int64_t>(sets.split.train.size()));
    schedule = schedule_options(config, sampler->updates_per_epoch());
    optim::validate(schedule);
    if (smallest_micro_batch(*sampler, schedule.total_updates) == 1) {
      require_one_sample_fits(config, input);
    }
  });
  std::string weights_text;  // for the log of the run, which is opened later
  // A run that cannot start leaves no folder behind: it is kept further down.
  RunPlace place = open_run_place(context);
  if (!place.from && !config.model.weights.empty()) {
    weights_text =
        begin_with_weights(context, *network, static_cast<std::int64_t>(input.classes.size()));
  }
  comm::require_same(control, shapes_text(*network), "the shapes of the model");
  comm::require_same(control, train::state_digest(*network), "the model's initial weights");

  const data::LoaderOptions loading =
      loader_options(config, world, sets.train->info().mean, sets.train->info().std);
  std::optional<comm::GradientReducer> reducer;
  std::optional<data::Loader> loader;
  std::optional<train::Evaluator> val;
  std::optional<train::Evaluator> probe;
  std::optional<train::Trainer> trainer;
  comm::agreed_phase(control, [&] {
    reducer.emplace(trainable(*network), *collectives.gradients, bucket_options(config));
    loader.emplace(*sets.train, sets.split.train, *sampler, loading);
    if (!sets.split.val.empty()) {
      val.emplace(sets.val_set(), sets.split.val, config.train.eval_batch_size, loading, control,
                  device.device);
    }
    probe.emplace(*sets.train, probe_ids(sets.train->size()), config.train.eval_batch_size, loading,
                  control, device.device);
    trainer.emplace(*network, *optimizer, *reducer, control, device.device,
                    trainer_options(config));
  });

  const train::FitOptions options = fit_options(config);
  train::TrainingState fresh = fresh_state(input, *sets.train, loading, world.size, plan.threads);
  fresh.train_samples = static_cast<std::int64_t>(sets.split.train.size());
  fresh.val_set_id = sets.own_val ? sets.own_val->info().set_id : std::string();
  train::TrainingState state = fresh;
  std::unique_ptr<report::MetricsWriter> metrics;
  std::optional<train::Recorder> recorder;
  comm::agreed_phase(control, [&] {
    if (world.is_root()) {
      log.add_file(place.path + "/train.log");
    }
    if (place.from) {
      log_warnings(context, place);
      require_fit(context, *place.from, fresh);
      state = restore(place, fresh, *network, *optimizer);
      log_warnings(context, place);
      require_whole_epochs(state, options, schedule.total_updates);
    }
    recorder.emplace(config.record.dir, config.record.updates, control);
    if (world.is_root()) {
      replace_durable(place.path + "/config.cfg", to_text(config));
      // The row of an epoch that max_updates cut short belongs to a run that is over.
      const bool cut =
          state.running.validated && train::is_finished(state, options, schedule.total_updates);
      metrics = std::make_unique<report::MetricsWriter>(place.path, state.epoch + (cut ? 1 : 0));
    }
  });
  if (place.folder) {
    place.folder->keep();
  }

  log.info("run", build_summary());
  log_ignored(context);
  log.info("run", "run folder " + place.path + ", device " +
                      train::device_text(device, plan.threads, config.run.deterministic));
  if (world.is_root() && !plan.warning.empty()) {
    log.warning("run", plan.warning);
  }
  if (config.run.deterministic && device.device.is_cpu()) {
    log.info("run", "run.deterministic: a CPU always is");
  }
  log_data(context, sets);
  log_plan(context, *sampler, schedule);
  std::istringstream summary(config.model.name + ": " +
                             model::model_summary(*network, optimizer->state_tensors()));
  for (std::string line; std::getline(summary, line);) {
    log.info("model", line);
  }
  if (!weights_text.empty()) {
    log.info("model", weights_text);
  }
  if (!config.optim.lr_scale.empty()) {
    log.info("train", "learning rate times " +
                          optim::lr_scales_text(optimizer_options(config), trainable(*network)));
  }
  log.debug("train", std::to_string(reducer->bucket_count()) + " gradient buckets");

  if (place.from) {
    go_on(context, place, *probe, *network, state);
  }
  if (recorder->active()) {
    recorder->initial(*network, record_meta(config, state, *network));
  }

  const report::ProgressMode mode =
      world.is_root() ? report::progress_mode(config.run.progress) : report::ProgressMode::kOff;
  train::FitParts parts{.options = options,
                        .control = control,
                        .log = log,
                        .fault = fault,
                        .sampler = *sampler,
                        .loader = *loader,
                        .network = *network,
                        .optimizer = *optimizer,
                        .reducer = *reducer,
                        .trainer = *trainer,
                        .val = val ? &*val : nullptr,
                        .probe = *probe,
                        .recorder = *recorder,
                        .stop = stop,
                        .metrics = metrics.get(),
                        .checkpoints = place.checkpoints.get(),
                        .folder = place.folder.get(),
                        .progress = report::Progress(mode, config.run.progress_interval),
                        .schedule = schedule,
                        .state = state};
  const train::FitResult result = train::fit(parts);

  if (result.stopped) {
    log.info("train", "stopped on request, saved after " + std::to_string(result.state.update) +
                          " updates; --run.resume auto --run.name " +
                          std::filesystem::path(place.path).filename().string() + " goes on");
    return ExitCode::kStopRequested;
  }
  if (sets.test) {
    score_test_set(context, place, sets, result.state, *network, loading, device.device);
  }
  log.info("train", "done: " + std::to_string(result.state.update) + " updates; best model in " +
                        place.path + "/checkpoints/best");
  return ExitCode::kDone;
}

}  // namespace lockstep::jobs
