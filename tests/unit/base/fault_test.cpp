#include "lockstep/base/fault.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>

#include "lockstep/base/check.hpp"

namespace lockstep {
namespace {

RunConfig::Fault fault(const char* point, const char* action, std::int64_t step = 0) {
  RunConfig::Fault options;
  options.point = point;
  options.action = action;
  options.step = step;
  options.rank = 1;
  return options;
}

TEST(FaultPoint, DoesNothingByDefault) {
  const FaultPoint point(RunConfig::Fault{}, 0);
  for (const char* name : {"", "config", "open", "step", "checkpoint", "evaluate", "exit"}) {
    EXPECT_NO_THROW(point.at(name));
  }
  EXPECT_FALSE(point.spoils(0));
}

TEST(FaultPoint, ThrowsAtItsPointRankAndStepAlone) {
  const FaultPoint point(fault("step", "throw", 3), 1);
  EXPECT_NO_THROW(point.at("step", 2));
  EXPECT_NO_THROW(point.at("open", 3));
  EXPECT_NO_THROW(FaultPoint(fault("step", "throw", 3), 0).at("step", 3));
  try {
    point.at("step", 3);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "injected failure at step on rank 1 (the section fault of the configuration asks "
                 "for it) - leave out the fault.* options for a real run");
    EXPECT_EQ(error.code(), ExitCode::kFailed);
  }
}

TEST(FaultPoint, StepMattersOnlyWherePointsCount) {
  EXPECT_THROW(FaultPoint(fault("open", "throw", 3), 1).at("open"), Error);
  EXPECT_NO_THROW(FaultPoint(fault("checkpoint", "throw", 3), 1).at("checkpoint", 1));
  EXPECT_THROW(FaultPoint(fault("checkpoint", "throw", 3), 1).at("checkpoint", 3), Error);
}

TEST(FaultPoint, SleepsForTheGivenTime) {
  RunConfig::Fault options = fault("open", "sleep");
  options.seconds = 0.05;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_NO_THROW(FaultPoint(options, 1).at("open"));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(50));
}

TEST(FaultPoint, SpoilsOneStepOnOneRank) {
  const FaultPoint point(fault("step", "nan", 3), 1);
  EXPECT_TRUE(point.spoils(3));
  EXPECT_FALSE(point.spoils(2));
  EXPECT_FALSE(FaultPoint(fault("step", "nan", 3), 0).spoils(3));
  EXPECT_FALSE(FaultPoint(fault("step", "throw", 3), 1).spoils(3));
  EXPECT_NO_THROW(point.at("step", 3));
}

TEST(FaultPointDeathTest, LeavesWithCodeThreeOrIsKilled) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(FaultPoint(fault("open", "exit"), 1).at("open"), testing::ExitedWithCode(3), "");
  EXPECT_EXIT(FaultPoint(fault("open", "kill"), 1).at("open"), testing::KilledBySignal(SIGKILL),
              "");
}

}  // namespace
}  // namespace lockstep
