#include <gtest/gtest.h>

#include "build.hpp"

namespace lockstep::jobs {
namespace {

/// A run that has done `epochs` of so many updates each, and `inside` of the next.
train::TrainingState done(std::int64_t epochs, std::int64_t per_epoch, std::int64_t inside = 0) {
  train::TrainingState state;
  state.epoch = epochs;
  state.update = epochs * per_epoch + inside;
  state.running.updates = inside;
  return state;
}

TEST(TotalUpdates, AreThoseOfTheUninterruptedRun) {
  RunConfig config;
  config.train.epochs = 10;
  EXPECT_EQ(total_updates(config, {}, 100), 1000);
  EXPECT_EQ(total_updates(config, done(6, 100), 100), 1000);
  EXPECT_EQ(total_updates(config, done(6, 100, 40), 100), 1000);
  EXPECT_EQ(total_updates(config, done(10, 100), 100), 1000);
}

TEST(TotalUpdates, EpochsOfAnotherLengthAreAllTrained) {
  RunConfig config;
  config.train.epochs = 10;
  EXPECT_EQ(total_updates(config, done(6, 100), 50), 600 + 4 * 50);
  EXPECT_EQ(total_updates(config, done(6, 100), 300), 600 + 4 * 300);
  config.train.epochs = 12;
  EXPECT_EQ(total_updates(config, done(10, 100), 50), 1000 + 2 * 50);
}

TEST(TotalUpdates, MaxUpdatesCutsThem) {
  RunConfig config;
  config.train.epochs = 10;
  config.train.max_updates = 620;
  EXPECT_EQ(total_updates(config, done(6, 100), 50), 620);
  config.train.epochs = 5;
  EXPECT_EQ(total_updates(config, done(6, 100), 100), 600) << "nothing is left";
}

}  // namespace
}  // namespace lockstep::jobs
