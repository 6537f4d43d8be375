#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>

#include "lockstep/base/check.hpp"
#include "lockstep/optim/schedule.hpp"

namespace lockstep::optim {
namespace {

ScheduleOptions cycle(std::int64_t total, double pct_start = 0.3) {
  ScheduleOptions options;
  options.name = "onecycle";
  options.lr = 0.5;
  options.total_updates = total;
  options.pct_start = pct_start;
  options.div_factor = 10;
  options.final_div_factor = 100;
  return options;
}

/// PyTorch's OneCycleLR, anneal_strategy="cos", three_phase=False, as it is written there.
double pytorch(const ScheduleOptions& o, std::int64_t step) {
  const double initial = o.lr / o.div_factor;
  const double least = initial / o.final_div_factor;
  const double peak = o.pct_start * static_cast<double>(o.total_updates) - 1;
  const auto now = static_cast<double>(step);
  const auto anneal = [](double start, double end, double pct) {
    const double cos_out = std::cos(std::numbers::pi * pct) + 1;
    return end + (start - end) / 2 * cos_out;
  };
  if (now <= peak) return anneal(initial, o.lr, now / peak);
  return anneal(o.lr, least, (now - peak) / (static_cast<double>(o.total_updates - 1) - peak));
}

TEST(OneCycle, EqualsPyTorch) {
  for (const std::int64_t total : {7, 20, 100, 1001}) {
    for (const double pct_start : {0.25, 0.3, 0.5, 0.9, 1.0}) {
      const ScheduleOptions options = cycle(total, pct_start);
      for (std::int64_t u = 0; u < total; ++u) {
        EXPECT_NEAR(learning_rate(options, u), pytorch(options, u), 1e-15)
            << u << " of " << total << ", " << pct_start;
      }
    }
  }
}

TEST(OneCycle, StartPeakAndEndAreExact) {
  const ScheduleOptions options = cycle(100);
  EXPECT_EQ(learning_rate(options, 29), 0.5) << "0.3 * 100 - 1";
  EXPECT_NEAR(learning_rate(options, 0), 0.05, 1e-16);
  EXPECT_LT(learning_rate(options, 28), 0.5);
  EXPECT_LT(learning_rate(options, 30), 0.5);
  EXPECT_EQ(learning_rate(options, 99), 0.05 / 100);
  EXPECT_EQ(learning_rate(options, 1000), 0.05 / 100) << "stays at the end";
  EXPECT_EQ(learning_rate(options, -1), learning_rate(options, 0));
}

TEST(OneCycle, HalfWayUpAndDown) {
  // The peak is update 9 of 0..19: no update is half-way up, 14 is half-way down.
  const ScheduleOptions options = cycle(20, 0.5);
  EXPECT_NEAR(learning_rate(options, 14), (0.5 + 0.0005) / 2, 1e-15);
  EXPECT_NEAR(learning_rate(options, 3) + learning_rate(options, 6), 0.5 + 0.05, 1e-15);
}

// No update lies before the peak: the first has the whole rate.
TEST(OneCycle, AShortRiseIsNone) {
  for (const ScheduleOptions& options : {cycle(2), cycle(3), cycle(50, 0), cycle(50, 0.02)}) {
    EXPECT_EQ(learning_rate(options, 0), 0.5);
    EXPECT_EQ(learning_rate(options, options.total_updates - 1), 0.05 / 100);
  }
  EXPECT_EQ(learning_rate(cycle(1), 0), 0.5);
}

void expect_refused(const ScheduleOptions& options, const std::string& part) {
  try {
    validate(options);
    FAIL() << "no error, expected " << part;
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(OneCycle, ImpossibleValuesAreNamed) {
  EXPECT_NO_THROW(validate(cycle(10)));
  ScheduleOptions options = cycle(10);
  options.warmup_updates = 1;
  expect_refused(options, "takes no warm-up");
  expect_refused(options, "schedule.warmup_epochs=0");
  expect_refused(cycle(10, 1.5), "schedule.pct_start");
  options = cycle(10);
  options.div_factor = 0;
  expect_refused(options, "schedule.div_factor");
  options = cycle(10);
  options.final_div_factor = -1;
  expect_refused(options, "schedule.final_div_factor");
}

}  // namespace
}  // namespace lockstep::optim
