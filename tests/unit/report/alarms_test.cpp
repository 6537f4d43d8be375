#include "lockstep/report/alarms.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockstep::report {
namespace {

TEST(GradNormAlarm, WarnsOncePerKindAndCountsAll) {
  GradNormAlarm alarm({1e-5, 100});
  EXPECT_EQ(alarm.note(1, 3.5), "");
  EXPECT_EQ(
      alarm.note(2, 250.5),
      "the gradient norm of update 2 is 250.5 (above train.grad_norm_high = 100: training may "
      "diverge) - lower optim.lr, add a warm-up (schedule.warmup_epochs), clip gradients "
      "(train.clip_norm), or set train.grad_norm_high=0");
  EXPECT_EQ(alarm.note(3, 251), "");
  EXPECT_EQ(
      alarm.note(4, 2e-6),
      "the gradient norm of update 4 is 2e-06 (below train.grad_norm_low = 1e-05: the weights "
      "hardly change) - raise optim.lr, look at model.init and model.freeze, or set "
      "train.grad_norm_low=0");
  EXPECT_EQ(alarm.note(5, 0), "");
  EXPECT_EQ(alarm.note(6, 1e6), "");
  EXPECT_EQ(alarm.below(), 2);
  EXPECT_EQ(alarm.above(), 3);
}

TEST(GradNormAlarm, TheBoundsThemselvesAreFine) {
  GradNormAlarm alarm({1e-5, 100});
  EXPECT_EQ(alarm.note(1, 1e-5), "");
  EXPECT_EQ(alarm.note(2, 100), "");
  EXPECT_EQ(alarm.below() + alarm.above(), 0);
}

TEST(GradNormAlarm, ZeroTurnsABoundOff) {
  GradNormAlarm off;
  EXPECT_EQ(off.note(1, 0), "");
  EXPECT_EQ(off.note(2, 1e30), "");
  GradNormAlarm only_low({1, 0});
  EXPECT_EQ(only_low.note(1, 1e30), "");
  EXPECT_NE(only_low.note(2, 0.5), "");
  GradNormAlarm only_high({0, 1});
  EXPECT_EQ(only_high.note(1, 0), "");
  EXPECT_NE(only_high.note(2, 1.5), "");
}

TEST(KeepsRising, NeedsFiveRisesInARow) {
  EXPECT_FALSE(keeps_rising({}));
  EXPECT_FALSE(keeps_rising({100, 200, 300, 400, 500})) << "four rises";
  EXPECT_TRUE(keeps_rising({100, 200, 300, 400, 500, 600}));
  EXPECT_FALSE(keeps_rising({100, 200, 300, 300, 400, 500})) << "it stood still";
  EXPECT_FALSE(keeps_rising({100, 200, 300, 250, 400, 500})) << "it fell";
  EXPECT_FALSE(keeps_rising({100, 200, 300, 400, 500, 500}));
}

TEST(KeepsRising, OnlyTheLastFiveCount) {
  EXPECT_TRUE(keeps_rising({900, 100, 200, 300, 400, 500, 600}));
  EXPECT_FALSE(keeps_rising({100, 200, 300, 400, 500, 600, 600}));
  // A start that fills its caches and then stands still, but for a page now and then.
  EXPECT_FALSE(keeps_rising({100, 400, 400.25, 400.5, 400.75, 401, 401.25}));
}

TEST(KeepsRising, NeedsMoreThanAShareAndMoreThanASize) {
  // 64 MiB, which is more than 5 %.
  EXPECT_FALSE(keeps_rising({100, 110, 120, 130, 140, 164}));
  EXPECT_TRUE(keeps_rising({100, 110, 120, 130, 140, 164.25}));
  // 5 % of 4000 MiB is more than 64.
  EXPECT_FALSE(keeps_rising({4000, 4010, 4020, 4030, 4040, 4200}));
  EXPECT_TRUE(keeps_rising({4000, 4010, 4020, 4030, 4040, 4201}));
}

TEST(MemoryAlarm, WarnsOnce) {
  MemoryAlarm alarm;
  int epoch = 0;
  for (; epoch < 5; ++epoch) EXPECT_EQ(alarm.note(100 + 50 * epoch), "") << epoch;
  const std::string warning = alarm.note(100 + 50 * epoch);
  EXPECT_NE(warning.find("memory keeps rising: 100 to 350 MiB in 5 epochs"), std::string::npos)
      << warning;
  EXPECT_NE(warning.find(") - "), std::string::npos) << warning;
  for (++epoch; epoch < 20; ++epoch) EXPECT_EQ(alarm.note(100 + 50 * epoch), "") << epoch;
}

TEST(MemoryAlarm, IsSilentWhileMemoryStands) {
  MemoryAlarm alarm;
  for (int epoch = 0; epoch < 50; ++epoch) {
    EXPECT_EQ(alarm.note(500 + (epoch % 5) * 100), "") << epoch;
  }
}

}  // namespace
}  // namespace lockstep::report
