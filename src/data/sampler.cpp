#include "lockstep/data/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "lockstep/base/check.hpp"
#include "lockstep/base/seed.hpp"

namespace lockstep::data {

namespace {

std::uint64_t holdout_rank(std::uint64_t class_key, std::int64_t id) noexcept {
  const auto words = random_words(class_key, static_cast<std::uint64_t>(id), 0);
  return (static_cast<std::uint64_t>(words[0]) << 32U) | words[1];
}

void require_at_least(std::int64_t value, std::int64_t least, const std::string& name) {
  require(value >= least, name + " is " + std::to_string(value),
          "it must be at least " + std::to_string(least), "correct " + name);
}

}  // namespace

Split make_holdout(const std::vector<std::int32_t>& labels, double fraction, std::uint64_t seed) {
  require(fraction >= 0 && fraction < 1, "the holdout fraction is " + std::to_string(fraction),
          "it must be at least 0 and below 1", "set data.holdout to 0.1, say");

  std::map<std::int32_t, std::vector<std::int64_t>> by_class;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    by_class[labels[i]].push_back(static_cast<std::int64_t>(i));
  }

  std::vector<bool> held(labels.size(), false);
  for (const auto& [label, ids] : by_class) {
    const auto wanted = std::llround(fraction * static_cast<double>(ids.size()));
    const auto count = std::min<std::int64_t>(wanted, static_cast<std::int64_t>(ids.size()) - 1);
    const std::uint64_t key = derive_key(
        seed, Stream::kHoldout, static_cast<std::uint64_t>(static_cast<std::int64_t>(label)));
    std::vector<std::pair<std::uint64_t, std::int64_t>> ranked;
    ranked.reserve(ids.size());
    for (const std::int64_t id : ids) ranked.emplace_back(holdout_rank(key, id), id);
    std::nth_element(ranked.begin(), ranked.begin() + count, ranked.end());
    for (std::int64_t i = 0; i < count; ++i) {
      held[static_cast<std::size_t>(ranked[static_cast<std::size_t>(i)].second)] = true;
    }
  }

  Split split;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    (held[i] ? split.val : split.train).push_back(static_cast<std::int64_t>(i));
  }
  return split;
}

Sampler::Sampler(const SamplerOptions& options) : options_(options) {
  require_at_least(options.samples, 0, "the number of samples");
  require_at_least(options.batch_size, 1, "the batch size");
  require_at_least(options.accumulation, 1, "the number of micro-batches per update");
}

std::int64_t Sampler::updates_per_epoch() const noexcept {
  const std::int64_t full = options_.samples / options_.batch_size;
  const bool partial = options_.samples % options_.batch_size != 0;
  return partial && !options_.drop_last ? full + 1 : full;
}

std::int64_t Sampler::sample_at(std::int64_t epoch, std::int64_t position) const noexcept {
  if (!options_.shuffle) return position;
  const Permutation order(
      derive_key(options_.seed, Stream::kEpochOrder, static_cast<std::uint64_t>(epoch)),
      static_cast<std::uint64_t>(options_.samples));
  return static_cast<std::int64_t>(order(static_cast<std::uint64_t>(position)));
}

std::vector<MicroBatchPlan> Sampler::plan(std::int64_t update, std::int64_t rank,
                                          std::int64_t size) const {
  require(update >= 0 && update < updates_per_epoch(),
          "there is no update " + std::to_string(update) + " in an epoch",
          "it has " + std::to_string(updates_per_epoch()) + " updates", "report this");
  require(rank >= 0 && rank < size, "there is no rank " + std::to_string(rank),
          "the world has " + std::to_string(size) + " ranks", "report this");

  const std::int64_t begin = update * options_.batch_size;
  // Not begin + batch_size first: a batch size near the largest integer would overflow.
  const Range slice{begin, begin + std::min(options_.batch_size, options_.samples - begin)};

  // More parts than samples would be parts of one sample, and empty ones that are skipped.
  const std::int64_t parts = std::min(options_.accumulation, slice.size());
  std::vector<MicroBatchPlan> plans;
  for (std::int64_t k = 0; k < parts; ++k) {
    const Range micro = part_of(slice, k, parts);
    MicroBatchPlan plan;
    plan.update = update;
    plan.micro = static_cast<std::int64_t>(plans.size());
    plan.update_samples = slice.size();
    plan.micro_samples = micro.size();
    plan.mine = part_of(micro, rank, size);
    plans.push_back(plan);
  }
  plans.back().last_of_update = true;
  return plans;
}

}  // namespace lockstep::data
