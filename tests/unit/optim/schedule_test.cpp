#include "lockstep/optim/schedule.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "lockstep/base/check.hpp"

namespace lockstep::optim {
namespace {

ScheduleOptions with(const std::string& name, std::int64_t total, std::int64_t warmup = 0) {
  ScheduleOptions options;
  options.name = name;
  options.lr = 0.3;
  options.total_updates = total;
  options.warmup_updates = warmup;
  options.step_updates = 10;
  options.milestones = {50};
  return options;
}

TEST(ScheduleTest, Constant) {
  for (const std::int64_t u : {0, 1, 99, 100, 1000}) {
    EXPECT_EQ(learning_rate(with("constant", 100), u), 0.3);
  }
}

TEST(ScheduleTest, CosineClosedForm) {
  ScheduleOptions options = with("cosine", 110, 10);
  options.min_lr = 0.01;
  for (std::int64_t u = 10; u <= 110; ++u) {
    const double t = static_cast<double>(u - 10) / 100;
    EXPECT_NEAR(learning_rate(options, u), 0.01 + 0.29 * (1 + std::cos(std::numbers::pi * t)) / 2,
                1e-16)
        << u;
  }
  EXPECT_NEAR(learning_rate(options, 60), 0.155, 1e-15);
  EXPECT_EQ(learning_rate(options, 110), 0.01);
}

TEST(ScheduleTest, LinearClosedForm) {
  ScheduleOptions options = with("linear", 50, 10);
  options.min_lr = 0.1;
  for (std::int64_t u = 10; u <= 50; ++u) {
    EXPECT_NEAR(learning_rate(options, u), 0.3 - 0.2 * static_cast<double>(u - 10) / 40, 1e-15);
  }
  EXPECT_EQ(learning_rate(options, 50), 0.1);
}

TEST(ScheduleTest, StepCountsFromUpdateZero) {
  ScheduleOptions options = with("step", 100, 4);
  options.gamma = 0.5;
  EXPECT_EQ(learning_rate(options, 4), 0.3);
  EXPECT_EQ(learning_rate(options, 9), 0.3);
  EXPECT_EQ(learning_rate(options, 10), 0.15);
  EXPECT_EQ(learning_rate(options, 19), 0.15);
  EXPECT_EQ(learning_rate(options, 35), 0.3 / 8);
}

// As PyTorch's MultiStepLR: the number of milestones that are not after the update.
TEST(ScheduleTest, MultistepFallsAtItsMilestones) {
  ScheduleOptions options = with("multistep", 100, 4);
  options.milestones = {10, 25, 26};
  options.gamma = 0.5;
  for (const auto& [update, halves] :
       {std::pair(4, 0), std::pair(9, 0), std::pair(10, 1), std::pair(24, 1), std::pair(25, 2),
        std::pair(26, 3), std::pair(1000, 3)}) {
    EXPECT_EQ(learning_rate(options, update), 0.3 / (1 << halves)) << update;
  }
  options.milestones = {2};
  EXPECT_EQ(learning_rate(options, 2), 0.3 * 0.5) << "the warm-up, half-way";
  EXPECT_EQ(learning_rate(options, 4), 0.3 * 0.5) << "a milestone within the warm-up";
}

TEST(ScheduleTest, WarmupIsLinearAndEndsAtThePeak) {
  for (const std::string name : {"constant", "cosine", "linear", "step", "multistep", "plateau"}) {
    ScheduleOptions options = with(name, 100, 8);
    options.warmup_start = 0.25;
    EXPECT_EQ(learning_rate(options, 0), 0.3 * 0.25) << name;
    EXPECT_NEAR(learning_rate(options, 2), 0.3 * (0.25 + 0.75 * 0.25), 1e-16) << name;
    EXPECT_NEAR(learning_rate(options, 7), 0.3 * (0.25 + 0.75 * 0.875), 1e-16) << name;
    EXPECT_EQ(learning_rate(options, 8), 0.3) << name;
  }
}

TEST(ScheduleTest, WithoutWarmupItStartsAtThePeak) {
  for (const std::string name : {"constant", "cosine", "linear", "step", "multistep", "plateau"}) {
    EXPECT_EQ(learning_rate(with(name, 100), 0), 0.3) << name;
  }
}

TEST(ScheduleTest, OneUpdate) {
  for (const std::string name : {"constant", "cosine", "linear", "step", "multistep", "plateau"}) {
    EXPECT_EQ(learning_rate(with(name, 1), 0), 0.3) << name;
  }
}

TEST(ScheduleTest, StaysAtTheEnd) {
  for (const std::string name : {"cosine", "linear"}) {
    ScheduleOptions options = with(name, 20, 5);
    options.min_lr = 0.02;
    for (const std::int64_t u : {20, 21, 1000000}) {
      EXPECT_EQ(learning_rate(options, u), 0.02) << name;
    }
    EXPECT_EQ(learning_rate(options, -1), learning_rate(options, 0));
  }
}

// A run cut short (train.max_updates) may end inside its warm-up, or exactly there.
TEST(ScheduleTest, WarmupMayOutlastTheRun) {
  const ScheduleOptions options = with("cosine", 4, 8);
  EXPECT_NO_THROW(validate(options));
  EXPECT_EQ(learning_rate(options, 4), 0.15);
  EXPECT_EQ(learning_rate(with("cosine", 8, 8), 8), 0.0);
}

void expect_refused(const ScheduleOptions& options, const std::string& part) {
  try {
    validate(options);
    FAIL() << "no error, expected " << part;
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(ScheduleTest, ImpossibleValuesAreNamed) {
  for (const std::string name : {"constant", "cosine", "linear", "step", "multistep", "plateau"}) {
    EXPECT_NO_THROW(validate(with(name, 10))) << name;
  }
  expect_refused(with("cosin", 10), "did you mean \"cosine\"");
  expect_refused(with("triangular", 10), "constant step cosine linear");
  expect_refused(with("cosine", 0), "number of updates");
  expect_refused(with("cosine", 10, -1), "warm-up");
  ScheduleOptions options = with("cosine", 10);
  options.lr = -0.1;
  expect_refused(options, "optim.lr");
  options.lr = std::nan("");
  expect_refused(options, "optim.lr");
  options = with("cosine", 10);
  options.min_lr = 0.4;
  expect_refused(options, "schedule.min_lr");
  options = with("linear", 10);
  options.warmup_start = 1.5;
  expect_refused(options, "schedule.warmup_start");
  options = with("multistep", 10);
  options.milestones = {};
  expect_refused(options, "schedule.milestones is empty");
  options.milestones = {3, 2};
  expect_refused(options, "schedule.milestones is not ascending");
  options.milestones = {3, 3};
  EXPECT_NO_THROW(validate(options)) << "two that fall into one update";
  options = with("step", 10);
  options.step_updates = 0;
  expect_refused(options, "between two steps");
  options = with("step", 10);
  options.gamma = 0;
  expect_refused(options, "schedule.gamma");
}

}  // namespace
}  // namespace lockstep::optim
