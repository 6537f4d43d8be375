#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "build.hpp"
#include "job.hpp"
#include "lockstep/base/build_info.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/fault.hpp"
#include "lockstep/report/run_folder.hpp"
#include "lockstep/train/device.hpp"
#include "lockstep/train/durable_file.hpp"
#include "lockstep/train/fit.hpp"

namespace lockstep::jobs {
namespace {

/// The sets of a run and which samples of them train and validate.
struct TrainingData {
  std::unique_ptr<data::ShardSet> train;
  std::unique_ptr<data::ShardSet> own_val;  // data.val
  std::unique_ptr<data::ShardSet> test;
  data::Split split;
  [[nodiscard]] const data::ShardSet& val_set() const { return own_val ? *own_val : *train; }
};

InputShape shape_of(const data::ShardSet& set) {
  return {set.info().classes, set.info().height, set.info().width};
}

TrainingData open_data(JobContext& context, const FaultPoint& fault) {
  const RunConfig& config = context.command_line.config;
  comm::Collectives& control = context.control;
  comm::agreed_phase(control, [&] { fault.at("open"); });
  TrainingData opened;
  opened.train = open_set(control, config.data.train, "data.train");
  if (!config.data.val.empty()) {
    opened.own_val = open_set(control, config.data.val, "data.val");
    opened.split = {all_ids(opened.train->size()), all_ids(opened.own_val->size())};
  } else {
    opened.split =
        data::make_holdout(opened.train->labels(), config.data.holdout, config.data.holdout_seed);
  }
  if (!config.data.test.empty()) {
    opened.test = open_set(control, config.data.test, "data.test");
  }
  comm::agreed_phase(control, [&] {
    const std::string from = "the training set '" + config.data.train + "'";
    for (const data::ShardSet* set : {opened.own_val.get(), opened.test.get()}) {
      if (set != nullptr) {
        require_like(*set, shape_of(*opened.train), from);
      }
    }
    const std::int64_t shorter = std::min(opened.train->info().height, opened.train->info().width);
    if (config.augment.crop_mode == "reflect" && config.augment.crop_padding >= shorter) {
      throw UsageError("augment.crop_padding=" + std::to_string(config.augment.crop_padding) +
                           " is too large to reflect",
                       "the pictures have " + std::to_string(shorter) + " pixels on a side",
                       "use less padding, or augment.crop_mode=zero");
    }
  });
  return opened;
}

data::Sampler make_sampler(const RunConfig& config, std::int64_t samples) {
  data::SamplerOptions options;
  options.samples = samples;
  options.batch_size = config.train.batch_size;
  options.accumulation = config.train.accumulation;
  options.drop_last = config.data.drop_last;
  options.seed = config.run.seed;
  data::Sampler sampler(options);
  if (sampler.updates_per_epoch() == 0) {
    throw UsageError("an epoch has no update",
                     std::to_string(samples) + " training samples, train.batch_size=" +
                         std::to_string(config.train.batch_size) + " and data.drop_last=true",
                     "lower train.batch_size or set data.drop_last=false");
  }
  return sampler;
}

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

std::string default_run_suffix(const RunConfig& config) {
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "_lr%g_b%lld", config.optim.lr,
                static_cast<long long>(config.train.batch_size));
  return config.model.name + text.data();
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
void log_plan(JobContext& context, const TrainingData& sets, const data::Sampler& sampler,
              const optim::ScheduleOptions& schedule, std::int64_t test_samples) {
  if (!context.session.world().is_root()) {
    return;
  }
  const RunConfig& config = context.command_line.config;
  std::ostringstream line;
  line << sets.split.train.size() << " training, " << sets.split.val.size() << " validation, "
       << test_samples << " test samples of " << sets.train->info().classes.size() << " classes, "
       << sets.train->info().height << "x" << sets.train->info().width << " pixels";
  context.log.info("data", line.str());
  for (const data::ShardSet* set : {sets.train.get(), sets.own_val.get(), sets.test.get()}) {
    if (set != nullptr && set->slow_shards() > 0) {
      context.log.warning("data", "'" + set->folder() + "' has " +
                                      std::to_string(set->slow_shards()) +
                                      " shards that are not contiguous: they are read through "
                                      "HDF5, more slowly");
    }
  }
  line.str("");
  line << schedule.total_updates << " updates of " << config.train.batch_size << " samples ("
       << sampler.updates_per_epoch() << " per epoch) on " << context.session.world().size
       << (context.session.world().size == 1 ? " rank" : " ranks");
  if (config.train.accumulation > 1) {
    line << ", each accumulated over " << config.train.accumulation
         << " micro-batches: a BatchNorm layer normalises each micro-batch by itself, across ranks";
  }
  context.log.info("train", line.str());
  if (sets.split.val.empty()) {
    context.log.warning("train", "there is no validation set: the last model counts as the best");
  }
}

}  // namespace

void run_train(JobContext& context) {
  const RunConfig& config = context.command_line.config;
  comm::Collectives& control = context.control;
  const comm::World& world = context.session.world();
  const FaultPoint fault(config.fault, world.rank);
  report::RunLog& log = context.log;

  const TrainingData sets = open_data(context, fault);
  const InputShape input = shape_of(*sets.train);

  c10::Device device(c10::kCPU);
  comm::agreed_phase(control, [&] { device = train::select_device(config.run.device, control); });
  const int threads = train::compute_threads(config.run.threads, control);
  at::set_num_threads(threads);
  const train::TrainingCollectives collectives =
      train::make_training_collectives(device, context.session, control, config.comm.timeout);

  std::shared_ptr<model::Network> network;
  std::unique_ptr<optim::Optimizer> optimizer;
  std::optional<data::Sampler> sampler;
  optim::ScheduleOptions schedule;
  comm::agreed_phase(control, [&] {
    network = build_network(config, input, device, collectives.batch_norm());
    optimizer = optim::make_optimizer(optimizer_options(config), trainable(*network));
    sampler = make_sampler(config, static_cast<std::int64_t>(sets.split.train.size()));
    schedule = schedule_options(config, sampler->updates_per_epoch());
    optim::validate(schedule);
  });
  comm::require_same(control, shapes_text(*network), "the shapes of the model");
  comm::require_same(control, train::state_digest(*network), "the model's initial weights");

  constexpr double kMegabyte = 1 << 20;
  comm::BucketOptions buckets;
  buckets.bucket_bytes = static_cast<std::size_t>(config.comm.bucket_mb * kMegabyte);
  buckets.first_bucket_bytes = static_cast<std::size_t>(config.comm.first_bucket_mb * kMegabyte);
  comm::GradientReducer reducer(trainable(*network), *collectives.gradients, buckets);

  const data::LoaderOptions loading =
      loader_options(config, world, sets.train->info().mean, sets.train->info().std);
  data::Loader loader(*sets.train, sets.split.train, *sampler, loading);
  std::optional<train::Evaluator> val;
  if (!sets.split.val.empty()) {
    val.emplace(sets.val_set(), sets.split.val, config.train.eval_batch_size, loading, control,
                device);
  }
  train::TrainerOptions trainer_options;
  trainer_options.seed = config.run.seed;
  trainer_options.label_smoothing = config.train.label_smoothing;
  trainer_options.clip_norm = config.train.clip_norm;
  train::Trainer trainer(*network, *optimizer, reducer, control, device, trainer_options);

  // Made last of all, so that a run that cannot start leaves no folder behind.
  std::unique_ptr<report::RunFolder> folder;
  std::unique_ptr<report::MetricsWriter> metrics;
  std::unique_ptr<train::CheckpointStore> checkpoints;
  std::optional<train::Recorder> recorder;
  comm::agreed_phase(control, [&] {
    recorder.emplace(config.record.dir, config.record.updates, control);
    if (world.is_root()) {
      folder = std::make_unique<report::RunFolder>(config.run.root, config.run.name,
                                                   default_run_suffix(config));
      log.add_file(folder->path() + "/train.log");
      train::write_durable(folder->path() + "/config.cfg", to_text(config));
      metrics = std::make_unique<report::MetricsWriter>(folder->path());
      checkpoints = std::make_unique<train::CheckpointStore>(folder->path() + "/checkpoints",
                                                             config.checkpoint.keep_last,
                                                             config.checkpoint.keep_every);
    }
  });
  const std::string run_path = control.broadcast(folder ? folder->path() : std::string());

  log.info("run", build_summary());
  log.info("run", "run folder " + run_path + ", device " + train::device_text(device, threads));
  log_plan(context, sets, *sampler, schedule, sets.test ? sets.test->size() : 0);
  log.info("model",
           config.model.name + ": " + model::model_summary(*network, optimizer->state_tensors()));
  log.debug("train", std::to_string(reducer.bucket_count()) + " gradient buckets");

  train::TrainingState state;
  state.classes = input.classes;
  state.height = input.height;
  state.width = input.width;
  state.mean = loading.augmentation.mean;
  state.std = loading.augmentation.std;
  state.train_set_id = sets.train->info().set_id;
  state.ranks = world.size;
  state.threads = threads;
  state.cpu_capability = at::get_cpu_capability();
  recorder->initial(*network, record_meta(config, state, *network));

  const report::ProgressMode mode =
      world.is_root() ? report::progress_mode(config.run.progress) : report::ProgressMode::kOff;
  train::FitParts parts{config,
                        control,
                        log,
                        fault,
                        *sampler,
                        loader,
                        *network,
                        *optimizer,
                        reducer,
                        trainer,
                        val ? &*val : nullptr,
                        *recorder,
                        metrics.get(),
                        checkpoints.get(),
                        report::Progress(mode, config.run.progress_interval),
                        schedule,
                        state};
  const train::FitResult result = train::fit(parts);

  if (sets.test) {
    const train::LoadedCheckpoint best = train::load_checkpoint_everywhere(
        control, run_path + "/checkpoints/" + result.best_checkpoint);
    train::copy_state(*network, best.model);
    train::Evaluator test(*sets.test, all_ids(sets.test->size()), config.train.eval_batch_size,
                          loading, control, device);
    log.info("train", "test set, with the best model (epoch " +
                          std::to_string(result.state.best_epoch) +
                          "): " + scores_text(test.score(*network)));
  }
  log.info("train", "done: " + std::to_string(result.state.update) + " updates; best model in " +
                        run_path + "/checkpoints/best");
}

}  // namespace lockstep::jobs
