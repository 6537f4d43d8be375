#pragma once

#include <cstdint>
#include <memory>

#include "build.hpp"
#include "job.hpp"
#include "lockstep/base/fault.hpp"
#include "lockstep/data/sampler.hpp"
#include "lockstep/data/shard_reader.hpp"

namespace lockstep::jobs {

/// The sets of a run and which samples of them train and validate.
struct TrainingData {
  std::unique_ptr<data::ShardSet> train;
  std::unique_ptr<data::ShardSet> own_val;  ///< data.val; null: held out of train
  std::unique_ptr<data::ShardSet> test;     ///< null: none
  data::Split split;
  [[nodiscard]] const data::ShardSet& val_set() const { return own_val ? *own_val : *train; }
};

[[nodiscard]] InputShape shape_of(const data::ShardSet& set);

/// Opens data.train, data.val and data.test, checks that they fit each other, and splits.
/// Collective; failures are agreed.
[[nodiscard]] TrainingData open_data(JobContext& context, const FaultPoint& fault);

/// The order of the training samples. Throws UsageError when an epoch would have no update.
[[nodiscard]] data::Sampler make_sampler(const RunConfig& config, std::int64_t samples);

/// Samples of the smallest micro-batch, over all ranks, in a run of `total_updates`.
[[nodiscard]] std::int64_t smallest_micro_batch(const data::Sampler& sampler,
                                                std::int64_t total_updates);

/// Says on rank 0 what is in the sets and what about them a person may not expect.
void log_data(JobContext& context, const TrainingData& sets);

}  // namespace lockstep::jobs
