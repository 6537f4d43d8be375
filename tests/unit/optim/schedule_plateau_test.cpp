#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "lockstep/base/check.hpp"
#include "lockstep/optim/schedule.hpp"

namespace lockstep::optim {
namespace {

ScheduleOptions plateau(std::int64_t patience, double threshold = 0.01) {
  ScheduleOptions options;
  options.name = "plateau";
  options.lr = 0.4;
  options.gamma = 0.5;
  options.total_updates = 1000;
  options.patience = patience;
  options.threshold = threshold;
  return options;
}

/// The reductions after each epoch of ten updates.
std::vector<std::int64_t> reductions(const ScheduleOptions& options,
                                     const std::vector<double>& figures) {
  ScheduleState state;
  std::vector<std::int64_t> all;
  std::int64_t updates = 0;
  for (const double figure : figures) {
    state = after_epoch(options, state, updates += 10, figure);
    all.push_back(state.reductions);
  }
  return all;
}

using Counts = std::vector<std::int64_t>;

// PyTorch: "if patience = 2, then we will ignore the first 2 epochs with no improvement, and will
// only decrease the LR after the 3rd epoch".
TEST(Plateau, FallsAfterMoreThanPatienceBadEpochs) {
  const std::vector<double> flat(9, 0.5);
  EXPECT_EQ(reductions(plateau(0), flat), (Counts{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(reductions(plateau(1), flat), (Counts{0, 0, 1, 1, 2, 2, 3, 3, 4}));
  EXPECT_EQ(reductions(plateau(2), flat), (Counts{0, 0, 0, 1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(reductions(plateau(10), flat), Counts(9, 0));
}

TEST(Plateau, AnImprovementStartsTheCountAgain) {
  EXPECT_EQ(reductions(plateau(1), {0.5, 0.5, 0.6, 0.6, 0.7, 0.7, 0.7}),
            (Counts{0, 0, 0, 0, 0, 0, 1}));
  // Worse than the best, though better than the epoch before.
  EXPECT_EQ(reductions(plateau(1), {0.5, 0.3, 0.4}), (Counts{0, 0, 1}));
}

TEST(Plateau, BetterMeansByMoreThanTheThreshold) {
  // Each of them is better than the one before, none by more than 0.25 than the best.
  EXPECT_EQ(reductions(plateau(0, 0.25), {0.25, 0.375, 0.5}), (Counts{0, 1, 2}));
  EXPECT_EQ(reductions(plateau(0, 0.25), {0.25, 0.375, 0.625}), (Counts{0, 1, 1}));
  EXPECT_EQ(reductions(plateau(0, 0), {0.25, 0.375, 0.375}), (Counts{0, 0, 1}));
}

TEST(Plateau, ALossIsBetterWhenItIsLower) {
  ScheduleOptions options = plateau(0, 0.25);
  options.lower_is_better = true;
  EXPECT_EQ(reductions(options, {2, 1.5, 1.25, 0.5}), (Counts{0, 0, 1, 1}));
  EXPECT_EQ(reductions(options, {2, 2.5, 3}), (Counts{0, 1, 2}));
}

TEST(Plateau, EpochsOfTheWarmUpAreNotCounted) {
  ScheduleOptions options = plateau(1);
  options.warmup_updates = 30;
  EXPECT_EQ(reductions(options, std::vector<double>(6, 0.5)), (Counts{0, 0, 0, 0, 1, 1}));
  // What is best in it is remembered.
  EXPECT_EQ(reductions(options, {0.9, 0.5, 0.5, 0.6, 0.7}), (Counts{0, 0, 0, 0, 1}));
}

TEST(Plateau, TheRateIsAPureFunctionOfTheState) {
  ScheduleOptions options = plateau(1);
  options.min_lr = 0.03;
  for (int n = 0; n < 6; ++n) {
    ScheduleState state;
    state.reductions = n;
    const double expected = std::max(0.4 * std::pow(0.5, n), 0.03);
    for (const std::int64_t u : {0, 7, 999, 5000}) {
      EXPECT_EQ(learning_rate(options, u, state), expected) << n;
    }
  }
  EXPECT_EQ(learning_rate(options, 3), 0.4) << "no state yet";
}

TEST(Plateau, TheWarmUpComesFirst) {
  ScheduleOptions options = plateau(1);
  options.warmup_updates = 8;
  ScheduleState state;
  EXPECT_EQ(learning_rate(options, 0, state), 0);
  EXPECT_EQ(learning_rate(options, 4, state), 0.2);
  state.reductions = 1;
  EXPECT_EQ(learning_rate(options, 8, state), 0.2);
}

// As after a stop and a restart from the saved state.
TEST(Plateau, TheStateIsAllThatIsRemembered) {
  const ScheduleOptions options = plateau(1);
  const std::vector<double> figures{0.5, 0.4, 0.6, 0.6, 0.5, 0.7, 0.2, 0.2, 0.2};
  ScheduleState whole;
  for (const double figure : figures) whole = after_epoch(options, whole, 100, figure);
  for (std::size_t stop = 0; stop < figures.size(); ++stop) {
    ScheduleState state;
    for (std::size_t i = 0; i < stop; ++i) state = after_epoch(options, state, 100, figures[i]);
    ScheduleState again;
    again.reductions = state.reductions;
    again.bad_epochs = state.bad_epochs;
    again.best = state.best;
    for (std::size_t i = stop; i < figures.size(); ++i) {
      again = after_epoch(options, again, 100, figures[i]);
    }
    EXPECT_EQ(again, whole) << stop;
  }
}

TEST(Plateau, OtherSchedulesHaveNoState) {
  ScheduleOptions options = plateau(0);
  options.name = "cosine";
  EXPECT_EQ(reductions(options, std::vector<double>(5, 0.5)), Counts(5, 0));
  ScheduleState state;
  state.reductions = 3;
  EXPECT_EQ(learning_rate(options, 0, state), 0.4);
}

void expect_refused(const ScheduleOptions& options, const std::string& part) {
  try {
    validate(options);
    FAIL() << "no error, expected " << part;
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(Plateau, ImpossibleValuesAreNamed) {
  EXPECT_NO_THROW(validate(plateau(0, 0)));
  expect_refused(plateau(-1), "schedule.patience");
  expect_refused(plateau(1, -0.5), "schedule.threshold");
  ScheduleOptions options = plateau(1);
  options.gamma = 0;
  expect_refused(options, "schedule.gamma");
  options = plateau(1);
  options.min_lr = 0.5;
  expect_refused(options, "schedule.min_lr");
}

}  // namespace
}  // namespace lockstep::optim
