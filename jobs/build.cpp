#include "build.hpp"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "lockstep/base/check.hpp"
#include "lockstep/base/wording.hpp"

namespace lockstep::jobs {
namespace {

data::Layout layout_of(const RunConfig& config) {
  return config.model.memory_format == "contiguous" ? data::Layout::kContiguous
                                                    : data::Layout::kChannelsLast;
}

std::array<double, 3> three(const std::vector<double>& chosen, const std::array<double, 3>& other) {
  return chosen.empty() ? other : std::array<double, 3>{chosen[0], chosen[1], chosen[2]};
}

}  // namespace

std::shared_ptr<model::Network> build_network(const RunConfig& config, const InputShape& input,
                                              const c10::Device& device,
                                              comm::Collectives& batch_norm) {
  model::ModelOptions options;
  options.name = config.model.name;
  options.classes = static_cast<std::int64_t>(input.classes.size());
  options.height = input.height;
  options.width_pixels = input.width;
  options.stem = config.model.stem;
  options.width = config.model.width;
  options.dropout = config.model.dropout;
  options.init = config.model.init;
  options.bn_momentum = config.model.bn_momentum;
  options.seed = config.run.seed;
  options.unused_parameter = config.fault.unused_parameter;
  std::shared_ptr<model::Network> network = model::make_model(options, batch_norm);
  if (!config.model.freeze.empty()) {
    model::freeze(*network, config.model.freeze);
  }
  network->to(device, config.run.dtype == "float64" ? at::kDouble : at::kFloat);
  if (layout_of(config) == data::Layout::kChannelsLast) {
    for (at::Tensor& parameter : network->parameters()) {
      if (parameter.dim() == 4) {
        parameter.set_data(parameter.detach().contiguous(at::MemoryFormat::ChannelsLast));
      }
    }
  }
  return network;
}

data::LoaderOptions loader_options(const RunConfig& config, const comm::World& world,
                                   const std::array<double, 3>& mean,
                                   const std::array<double, 3>& std) {
  data::LoaderOptions options;
  options.threads = config.data.threads;
  options.prefetch = config.data.prefetch;
  options.seed = config.run.seed;
  options.float64 = config.run.dtype == "float64";
  options.layout = layout_of(config);
  options.augmentation.crop_padding = config.augment.crop_padding;
  options.augmentation.pad_mode =
      config.augment.crop_mode == "reflect" ? data::PadMode::kReflect : data::PadMode::kZero;
  options.augmentation.flip = config.augment.flip;
  options.augmentation.mean = three(config.augment.mean, mean);
  options.augmentation.std = three(config.augment.std, std);
  for (double& deviation : options.augmentation.std) {
    // A set of one colour has no spread; dividing by one leaves it centred.
    deviation = deviation > 0 ? deviation : 1;
  }
  options.rank = world.rank;
  options.size = world.size;
  return options;
}

optim::OptimizerOptions optimizer_options(const RunConfig& config) {
  optim::OptimizerOptions options;
  options.name = config.optim.name;
  options.momentum = config.optim.momentum;
  options.nesterov = config.optim.nesterov;
  options.weight_decay = config.optim.weight_decay;
  options.decay_norm_and_bias = config.optim.decay_norm_and_bias;
  options.beta1 = config.optim.beta1;
  options.beta2 = config.optim.beta2;
  options.alpha = config.optim.alpha;
  options.eps = config.optim.eps;
  options.lr_scales = optim::parse_lr_scales(config.optim.lr_scale);
  return options;
}

std::int64_t total_updates(const RunConfig& config, const train::TrainingState& state,
                           std::int64_t updates_per_epoch) {
  const std::int64_t left = std::max<std::int64_t>(config.train.epochs - state.epoch, 0);
  const std::int64_t total =
      std::max<std::int64_t>(state.update - state.running.updates + left * updates_per_epoch, 1);
  return config.train.max_updates > 0 ? std::min(total, config.train.max_updates) : total;
}

optim::ScheduleOptions schedule_options(const RunConfig& config, std::int64_t updates_per_epoch) {
  const auto updates_of = [&](double epochs) {
    // More than any run has, and far from the limits of the type.
    constexpr double kNever = 1e15;
    return std::llround(std::min(epochs * static_cast<double>(updates_per_epoch), kNever));
  };
  optim::ScheduleOptions options;
  options.name = config.schedule.name;
  options.lr = config.optim.lr;
  options.min_lr = config.schedule.min_lr;
  options.total_updates = total_updates(config, {}, updates_per_epoch);
  options.warmup_updates = updates_of(config.schedule.warmup_epochs);
  options.warmup_start = config.schedule.warmup_start;
  options.step_updates = std::max<std::int64_t>(1, updates_of(config.schedule.step_epochs));
  for (const double epochs : config.schedule.milestones) {
    options.milestones.push_back(std::max<std::int64_t>(1, updates_of(epochs)));
  }
  options.gamma = config.schedule.gamma;
  options.pct_start = config.schedule.pct_start;
  options.div_factor = config.schedule.div_factor;
  options.final_div_factor = config.schedule.final_div_factor;
  options.patience = config.schedule.patience;
  options.threshold = config.schedule.threshold;
  options.lower_is_better = config.train.best_by == "loss";
  return options;
}

train::FitOptions fit_options(const RunConfig& config) {
  train::FitOptions options;
  options.epochs = config.train.epochs;
  options.best_by_loss = config.train.best_by == "loss";
  options.early_stopping = config.train.early_stopping;
  options.save_every_updates = config.checkpoint.every_updates;
  options.stop_after_updates = config.train.stop_after_updates;
  options.grad_norm = {config.train.grad_norm_low, config.train.grad_norm_high};
  options.config_text = to_text(config);
  return options;
}

train::TrainerOptions trainer_options(const RunConfig& config) {
  train::TrainerOptions options;
  options.seed = config.run.seed;
  options.label_smoothing = config.train.label_smoothing;
  options.clip_norm = config.train.clip_norm;
  return options;
}

comm::BucketOptions bucket_options(const RunConfig& config) {
  constexpr double kMebibyte = 1 << 20;
  comm::BucketOptions options;
  options.bucket_bytes = static_cast<std::size_t>(config.comm.bucket_mb * kMebibyte);
  options.first_bucket_bytes = static_cast<std::size_t>(config.comm.first_bucket_mb * kMebibyte);
  return options;
}

std::unique_ptr<data::ShardSet> open_set(comm::Collectives& control, const std::string& folder,
                                         const std::string& key) {
  std::unique_ptr<data::ShardSet> set;
  comm::agreed_phase(control, [&] {
    if (folder.empty()) {
      throw UsageError(key + " is not set", "there is nothing to read",
                       "pack pictures with pack_images and give the set with --" + key);
    }
    set = std::make_unique<data::ShardSet>(folder);
    if (set->size() == 0) {
      throw UsageError("the set '" + folder + "' is empty", "it holds no sample",
                       "pack pictures into it with pack_images");
    }
  });
  comm::require_same(control, set->info().set_id, "the set of " + key + " (its set id)");
  comm::require_same(control, data::to_json(set->info()) + data::labels_digest(*set),
                     "the set of " + key);
  return set;
}

void require_like(const data::ShardSet& set, const InputShape& expected,
                  const std::string& expected_from) {
  const data::SetInfo& info = set.info();
  if (info.height != expected.height || info.width != expected.width) {
    const auto size = [](std::int64_t h, std::int64_t w) {
      return std::to_string(h) + "x" + std::to_string(w);
    };
    throw UsageError("the pictures of '" + set.folder() + "' do not fit",
                     "they have " + size(info.height, info.width) + " pixels, " + expected_from +
                         " has " + size(expected.height, expected.width),
                     "pack both with the same --size");
  }
  if (info.classes != expected.classes) {
    const auto [mine, theirs] = std::mismatch(info.classes.begin(), info.classes.end(),
                                              expected.classes.begin(), expected.classes.end());
    const std::string first = mine != info.classes.end() ? *mine : *theirs;
    throw UsageError("the classes of '" + set.folder() + "' differ from those of " + expected_from,
                     std::to_string(info.classes.size()) + " against " +
                         std::to_string(expected.classes.size()) + "; first difference: '" + first +
                         "'",
                     "pack it with pack_images --classes-from THE_TRAINING_SET");
  }
}

std::string scores_text(const report::Scores& scores) {
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(),
                "loss %s  top-1 %.2f %% (%lld of %lld)  top-5 %.2f %% (%lld of %lld)",
                loss_text(scores.loss).c_str(), 100 * scores.top1(),
                static_cast<long long>(scores.correct1), static_cast<long long>(scores.samples),
                100 * scores.top5(), static_cast<long long>(scores.correct5),
                static_cast<long long>(scores.samples));
  return text.data();
}

std::vector<std::int64_t> all_ids(std::int64_t n) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(n));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

}  // namespace lockstep::jobs
