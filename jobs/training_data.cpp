#include "training_data.hpp"

#include <algorithm>
#include <sstream>
#include <string>

#include "lockstep/base/check.hpp"
#include "lockstep/base/wording.hpp"

namespace lockstep::jobs {
namespace {

/// Refuses what goes by validation; there is no sample for it.
void require_no_use_of_validation(const RunConfig& config) {
  std::string user;
  std::string other;
  if (config.train.early_stopping > 0) {
    user = "train.early_stopping=" + std::to_string(config.train.early_stopping);
    other = "set train.early_stopping=0";
  } else if (config.schedule.name == "plateau") {
    user = "schedule.name=plateau";
    other = "choose another schedule.name";
  }
  if (!user.empty()) {
    throw UsageError(user + " has nothing to go by",
                     "there is no validation sample: data.holdout=" +
                         std::to_string(config.data.holdout) + " of the training set is none",
                     "raise data.holdout, give data.val, or " + other);
  }
}

}  // namespace

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
  }
  if (!config.data.test.empty()) {
    opened.test = open_set(control, config.data.test, "data.test");
  }
  comm::agreed_phase(control, [&] {
    opened.split = opened.own_val
                       ? data::Split{all_ids(opened.train->size()), all_ids(opened.own_val->size())}
                       : data::make_holdout(opened.train->labels(), config.data.holdout,
                                            config.data.holdout_seed);
    if (opened.split.val.empty()) {
      require_no_use_of_validation(config);
    }
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

std::int64_t smallest_micro_batch(const data::Sampler& sampler, std::int64_t total_updates) {
  // All updates but the last of an epoch are alike.
  const std::int64_t last = std::min(sampler.updates_per_epoch(), total_updates) - 1;
  std::int64_t smallest = sampler.options().batch_size;
  for (const std::int64_t update : {std::int64_t{0}, last}) {
    for (const data::MicroBatchPlan& plan : sampler.plan(update, 0, 1)) {
      smallest = std::min(smallest, plan.micro_samples);
    }
  }
  return smallest;
}

void log_data(JobContext& context, const TrainingData& sets) {
  if (!context.session.world().is_root()) {
    return;
  }
  const data::SetInfo& info = sets.train->info();
  std::ostringstream line;
  line << sets.split.train.size() << " training, " << sets.split.val.size() << " validation, "
       << (sets.test ? sets.test->size() : 0) << " test samples of " << info.classes.size()
       << " classes, " << info.height << "x" << info.width << " pixels";
  context.log.info("data", line.str());
  for (const data::ShardSet* set : {sets.train.get(), sets.own_val.get(), sets.test.get()}) {
    if (set != nullptr && set->slow_shards() > 0) {
      context.log.warning("data", "'" + set->folder() + "' has " +
                                      counted(set->slow_shards(), "shard") +
                                      " not contiguous: read through HDF5, more slowly");
    }
  }
  for (const auto& [set, key] :
       {std::pair(sets.own_val.get(), "data.val"), std::pair(sets.test.get(), "data.test")}) {
    if (set != nullptr && set->info().set_id == info.set_id) {
      context.log.warning("data", std::string(key) +
                                      " is the training set: its scores say nothing about "
                                      "pictures the model has not seen");
    }
  }
  if (sets.own_val && sets.test && sets.own_val->info().set_id == sets.test->info().set_id) {
    context.log.warning("data",
                        "data.test is the validation set: the best model is chosen on the pictures "
                        "that it is scored on, which makes the score too good");
  }
  if (sets.split.val.empty()) {
    const double holdout = context.command_line.config.data.holdout;
    const bool rounded = holdout > 0 && !sets.own_val;
    context.log.warning("train",
                        std::string("there is no validation set") +
                            (rounded ? " (data.holdout of each class rounds to none)" : "") +
                            ": the last model counts as the best");
  }
  const std::int64_t batch = context.command_line.config.train.batch_size;
  if (batch > static_cast<std::int64_t>(sets.split.train.size())) {
    context.log.warning("train", "train.batch_size=" + std::to_string(batch) +
                                     " is more than the training samples: an epoch is one update");
  }
}

}  // namespace lockstep::jobs
