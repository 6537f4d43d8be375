#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/base/partition.hpp"

namespace lockstep::data {

/// Sample ids of the training and the validation part of a set.
struct Split {
  std::vector<std::int64_t> train;
  std::vector<std::int64_t> val;
};

/// Stratified holdout: per class with n samples round(fraction * n) go to validation (at least one
/// stays in training), chosen by (seed, class, sample id) alone; both parts in ascending order of
/// id. fraction in [0, 1).
[[nodiscard]] Split make_holdout(const std::vector<std::int32_t>& labels, double fraction,
                                 std::uint64_t seed);

/// What one rank does with one micro-batch.
struct MicroBatchPlan {
  std::int64_t update = 0;  ///< within the epoch
  std::int64_t micro = 0;   ///< index among the non-empty micro-batches of the update
  bool last_of_update = false;
  std::int64_t update_samples = 0;  ///< samples of the whole update, over all ranks
  std::int64_t micro_samples = 0;   ///< samples of this micro-batch, over all ranks (never 0)
  Range mine;                       ///< positions in the epoch order that this rank takes
};

struct SamplerOptions {
  std::int64_t samples = 0;       ///< N, samples of an epoch
  std::int64_t batch_size = 1;    ///< B, global
  std::int64_t accumulation = 1;  ///< micro-batches per update
  bool drop_last = false;
  bool shuffle = true;
  std::uint64_t seed = 0;
};

/// The plan of an epoch: a pure function of (options, epoch, rank, size). No state.
class Sampler {
 public:
  /// Throws Error on a negative count or a batch or accumulation below 1.
  explicit Sampler(const SamplerOptions& options);

  [[nodiscard]] const SamplerOptions& options() const noexcept { return options_; }
  /// 0 when there is no sample, or fewer than a batch with drop_last.
  [[nodiscard]] std::int64_t updates_per_epoch() const noexcept;
  /// Index (0..N-1) of the sample at `position` in the order of `epoch`.
  [[nodiscard]] std::int64_t sample_at(std::int64_t epoch, std::int64_t position) const noexcept;
  /// The micro-batches of `update` for one rank; empty ones (no sample on any rank) are left out,
  /// on all ranks alike. A plan may have mine.size() == 0.
  [[nodiscard]] std::vector<MicroBatchPlan> plan(std::int64_t update, std::int64_t rank,
                                                 std::int64_t size) const;

 private:
  SamplerOptions options_;
};

}  // namespace lockstep::data
