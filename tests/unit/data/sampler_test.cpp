#include "lockstep/data/sampler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "lockstep/base/check.hpp"
#include "lockstep/base/seed.hpp"

namespace lockstep::data {
namespace {

SamplerOptions options_of(std::int64_t samples, std::int64_t batch, std::int64_t accumulation = 1,
                          bool drop_last = false) {
  SamplerOptions options;
  options.samples = samples;
  options.batch_size = batch;
  options.accumulation = accumulation;
  options.drop_last = drop_last;
  options.seed = 7;
  return options;
}

/// Positions that the ranks together take in each micro-batch of an update, in rank order.
using Micros = std::vector<std::vector<std::int64_t>>;

/// Checks everything that must hold between the ranks of one update and returns its micro-batches.
Micros gather_update(const Sampler& sampler, std::int64_t update, std::int64_t ranks) {
  Micros micros;
  std::vector<MicroBatchPlan> first;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const auto plans = sampler.plan(update, rank, ranks);
    if (rank == 0) {
      first = plans;
      micros.resize(plans.size());
    }
    EXPECT_EQ(plans.size(), first.size());
    for (std::size_t m = 0; m < std::min(plans.size(), first.size()); ++m) {
      const MicroBatchPlan& plan = plans[m];
      EXPECT_EQ(plan.update, update);
      EXPECT_EQ(plan.micro, static_cast<std::int64_t>(m));
      EXPECT_EQ(plan.last_of_update, m + 1 == plans.size());
      EXPECT_EQ(plan.update_samples, first[m].update_samples);
      EXPECT_EQ(plan.micro_samples, first[m].micro_samples);
      EXPECT_GT(plan.micro_samples, 0);
      for (std::int64_t p = plan.mine.begin; p < plan.mine.end; ++p) micros[m].push_back(p);
      // Even parts: no rank waits for another by more than one sample.
      EXPECT_LE(std::abs(plan.mine.size() * ranks - plan.micro_samples), ranks - 1);
    }
  }
  std::int64_t total = 0;
  for (std::size_t m = 0; m < micros.size(); ++m) {
    EXPECT_EQ(static_cast<std::int64_t>(micros[m].size()), first[m].micro_samples);
    total += first[m].micro_samples;
  }
  EXPECT_EQ(first.front().update_samples, total);
  return micros;
}

TEST(Sampler, EverySmallWorldCoversTheEpochOnceAndInOrder) {
  for (std::int64_t samples = 0; samples <= 13; ++samples) {
    for (std::int64_t batch = 1; batch <= 8; ++batch) {
      for (const std::int64_t accumulation : {1, 2, 3, 4, 5, 8, 1'000'000'000}) {
        for (const bool drop_last : {false, true}) {
          const Sampler sampler(options_of(samples, batch, accumulation, drop_last));
          std::vector<Micros> alone;
          for (std::int64_t ranks = 1; ranks <= 6; ++ranks) {
            SCOPED_TRACE(testing::Message()
                         << samples << " samples, batch " << batch << ", " << accumulation
                         << " micro-batches, " << ranks << " ranks, drop_last " << drop_last);
            std::vector<Micros> epoch;
            std::vector<std::int64_t> positions;
            for (std::int64_t u = 0; u < sampler.updates_per_epoch(); ++u) {
              epoch.push_back(gather_update(sampler, u, ranks));
              EXPECT_LE(epoch.back().size(), static_cast<std::size_t>(accumulation));
              for (const auto& micro : epoch.back()) {
                positions.insert(positions.end(), micro.begin(), micro.end());
              }
            }
            const std::int64_t covered = drop_last ? samples / batch * batch : samples;
            std::vector<std::int64_t> expected(static_cast<std::size_t>(covered));
            std::iota(expected.begin(), expected.end(), 0);
            ASSERT_EQ(positions, expected);  // union, no duplicates, order
            // A BatchNorm batch (a micro-batch over all ranks) is the same on any number of ranks.
            if (ranks == 1) alone = epoch;
            ASSERT_EQ(epoch, alone);
          }
        }
      }
    }
  }
}

TEST(Sampler, CutsByThePartitionFormula) {
  // The last update has 37 samples: micro-batches [0,12), [12,24), [24,37), ranks by floor(r*n/4).
  const Sampler sampler(options_of(137, 50, 3));
  ASSERT_EQ(sampler.updates_per_epoch(), 3);
  const auto plans = sampler.plan(2, 1, 4);
  ASSERT_EQ(plans.size(), 3U);
  EXPECT_EQ(plans[0].mine, (Range{103, 106}));
  EXPECT_EQ(plans[1].mine, (Range{115, 118}));
  EXPECT_EQ(plans[2].mine, (Range{127, 130}));
  EXPECT_EQ(plans[2].micro_samples, 13);
  EXPECT_EQ(plans[2].update_samples, 37);
}

TEST(Sampler, SkipsEmptyMicroBatchesOnAllRanksAndNumbersTheOthersAnew) {
  const Sampler sampler(options_of(2, 8, 4));
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    const auto plans = sampler.plan(0, rank, 3);
    ASSERT_EQ(plans.size(), 2U);
    EXPECT_EQ(plans[0].micro, 0);
    EXPECT_FALSE(plans[0].last_of_update);
    EXPECT_EQ(plans[1].micro, 1);
    EXPECT_TRUE(plans[1].last_of_update);
    EXPECT_EQ(plans[0].mine.size(),
              rank == 2 ? 1 : 0);  // one sample: floor cuts give it to the last
  }
}

TEST(Sampler, DropLastWithLessThanABatchHasNoUpdate) {
  EXPECT_EQ(Sampler(options_of(7, 8, 1, true)).updates_per_epoch(), 0);
  EXPECT_EQ(Sampler(options_of(7, 8, 1, false)).updates_per_epoch(), 1);
  EXPECT_EQ(Sampler(options_of(0, 8)).updates_per_epoch(), 0);
}

TEST(Sampler, EpochOrderIsTheKeyedPermutation) {
  const Sampler sampler(options_of(101, 10));
  std::vector<std::int64_t> orders[2];
  for (const std::int64_t epoch : {0, 1}) {
    const Permutation order(derive_key(7, Stream::kEpochOrder, static_cast<std::uint64_t>(epoch)),
                            101);
    for (std::int64_t p = 0; p < 101; ++p) {
      orders[epoch].push_back(sampler.sample_at(epoch, p));
      EXPECT_EQ(orders[epoch].back(),
                static_cast<std::int64_t>(order(static_cast<std::uint64_t>(p))));
    }
  }
  EXPECT_NE(orders[0], orders[1]);
  std::vector<std::int64_t> sorted = orders[0];
  std::sort(sorted.begin(), sorted.end());
  for (std::int64_t p = 0; p < 101; ++p) EXPECT_EQ(sorted[static_cast<std::size_t>(p)], p);

  SamplerOptions other = options_of(101, 10);
  other.seed = 8;
  std::int64_t same = 0;
  for (std::int64_t p = 0; p < 101; ++p) {
    same += Sampler(other).sample_at(0, p) == sampler.sample_at(0, p) ? 1 : 0;
  }
  EXPECT_LT(same, 20);
}

TEST(Sampler, WithoutShufflingTheOrderIsThatOfTheSet) {
  SamplerOptions options = options_of(50, 10);
  options.shuffle = false;
  for (std::int64_t p = 0; p < 50; ++p) EXPECT_EQ(Sampler(options).sample_at(3, p), p);
}

TEST(Sampler, RefusesImpossibleOptionsAndPlans) {
  EXPECT_THROW(Sampler(options_of(-1, 1)), Error);
  EXPECT_THROW(Sampler(options_of(1, 0)), Error);
  EXPECT_THROW(Sampler(options_of(1, 1, 0)), Error);
  const Sampler sampler(options_of(10, 4));
  EXPECT_THROW((void)sampler.plan(3, 0, 1), Error);
  EXPECT_THROW((void)sampler.plan(-1, 0, 1), Error);
  EXPECT_THROW((void)sampler.plan(0, 2, 2), Error);
}

TEST(Sampler, ABatchBeyondAllSamplesIsOneUpdate) {
  const Sampler sampler(options_of(10, INT64_MAX));
  ASSERT_EQ(sampler.updates_per_epoch(), 1);
  EXPECT_EQ(sampler.plan(0, 0, 1).front().mine, (Range{0, 10}));
}

/// Class c has counts[c] samples, dealt in turn.
std::vector<std::int32_t> labels_of(std::vector<std::int64_t> counts) {
  std::vector<std::int32_t> labels;
  bool any = true;
  while (any) {
    any = false;
    for (std::size_t c = 0; c < counts.size(); ++c) {
      if (counts[c] == 0) continue;
      --counts[c];
      labels.push_back(static_cast<std::int32_t>(c));
      any = true;
    }
  }
  return labels;
}

TEST(Holdout, TakesTheRoundedShareOfEveryClassAndLeavesOne) {
  const std::vector<std::int64_t> counts = {1, 2, 3, 10, 15, 100, 0, 7};
  const auto labels = labels_of(counts);
  for (const double fraction : {0.0, 0.1, 0.25, 0.5, 0.9, 0.999}) {
    const Split split = make_holdout(labels, fraction, 5);
    std::map<std::int32_t, std::int64_t> held;
    for (const std::int64_t id : split.val) ++held[labels[static_cast<std::size_t>(id)]];
    for (std::size_t c = 0; c < counts.size(); ++c) {
      const auto n = static_cast<double>(counts[c]);
      const double expected = std::min(std::floor(fraction * n + 0.5), std::max(n - 1, 0.0));
      EXPECT_EQ(held[static_cast<std::int32_t>(c)], static_cast<std::int64_t>(expected))
          << "class " << c << ", fraction " << fraction;
    }
    std::vector<std::int64_t> all = split.train;
    all.insert(all.end(), split.val.begin(), split.val.end());
    EXPECT_TRUE(std::is_sorted(split.train.begin(), split.train.end()));
    EXPECT_TRUE(std::is_sorted(split.val.begin(), split.val.end()));
    EXPECT_EQ(std::set<std::int64_t>(all.begin(), all.end()).size(), labels.size());
    EXPECT_EQ(all.size(), labels.size());
  }
}

TEST(Holdout, PicksTheSamplesOfSmallestRandomWord) {
  const auto labels = labels_of({20, 20});
  const Split split = make_holdout(labels, 0.3, 11);
  ASSERT_EQ(split.val.size(), 12U);
  const auto word = [&](std::int64_t id) {
    const auto label = static_cast<std::uint64_t>(labels[static_cast<std::size_t>(id)]);
    const auto words =
        random_words(derive_key(11, Stream::kHoldout, label), static_cast<std::uint64_t>(id), 0);
    return static_cast<std::uint64_t>(words[0]) * 0x100000000U + words[1];
  };
  for (const std::int64_t held : split.val) {
    for (const std::int64_t kept : split.train) {
      if (labels[static_cast<std::size_t>(held)] == labels[static_cast<std::size_t>(kept)]) {
        EXPECT_LT(word(held), word(kept));
      }
    }
  }
}

TEST(Holdout, DependsOnTheSeedAndNotOnOtherClasses) {
  const auto labels = labels_of({40, 40});
  EXPECT_EQ(make_holdout(labels, 0.25, 1).val, make_holdout(labels, 0.25, 1).val);
  EXPECT_NE(make_holdout(labels, 0.25, 1).val, make_holdout(labels, 0.25, 2).val);
  // The same ids in class 0; those of class 1 spread over two classes.
  auto relabelled = labels;
  for (std::size_t i = 0; i < relabelled.size(); ++i) {
    if (relabelled[i] == 1 && i % 4 == 1) relabelled[i] = 2;
  }
  const auto of_class_0 = [](const Split& split, const std::vector<std::int32_t>& of) {
    std::vector<std::int64_t> ids;
    for (const std::int64_t id : split.val) {
      if (of[static_cast<std::size_t>(id)] == 0) ids.push_back(id);
    }
    return ids;
  };
  EXPECT_EQ(of_class_0(make_holdout(labels, 0.25, 1), labels),
            of_class_0(make_holdout(relabelled, 0.25, 1), relabelled));
}

TEST(Holdout, RefusesAFractionOutsideItsRange) {
  EXPECT_THROW((void)make_holdout({0, 1}, 1.0, 1), Error);
  EXPECT_THROW((void)make_holdout({0, 1}, -0.1, 1), Error);
  EXPECT_THROW((void)make_holdout({0, 1}, NAN, 1), Error);
  EXPECT_TRUE(make_holdout({}, 0.1, 1).train.empty());
}

}  // namespace
}  // namespace lockstep::data
