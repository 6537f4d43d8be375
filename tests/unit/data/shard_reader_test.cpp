#include "lockstep/data/shard_reader.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "lockstep/base/check.hpp"
#include "lockstep/data/shard_writer.hpp"
#include "rewrite_images.hpp"
#include "small_set.hpp"

namespace lockstep::data {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSamples = 23;
constexpr std::int64_t kHeight = 6;
constexpr std::int64_t kWidth = 5;

/// Reads all samples on 8 threads, each in another order, and counts those that differ.
int differing(const ShardSet& set) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      std::vector<std::uint8_t> picture(static_cast<std::size_t>(set.sample_bytes()));
      for (std::int64_t i = 0; i < 4 * set.size(); ++i) {
        const std::int64_t id = (i * (2 * t + 3) + t) % set.size();
        set.read(id, picture.data());
        if (picture != SmallSet::picture(id, kHeight, kWidth)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return wrong;
}

TEST(ShardReader, ReadsWhatWasWritten) {
  const SmallSet made(kSamples, kHeight, kWidth, 4);
  const ShardSet set(made.folder());
  EXPECT_EQ(set.size(), kSamples);
  EXPECT_EQ(set.sample_bytes(), kHeight * kWidth * 3);
  EXPECT_EQ(set.info().shards.size(), 4U);
  EXPECT_EQ(set.slow_shards(), 0);
  EXPECT_EQ(set.folder(), made.folder());
  const auto paths = set.source_paths();
  ASSERT_EQ(paths.size(), static_cast<std::size_t>(kSamples));
  std::vector<std::uint8_t> picture(static_cast<std::size_t>(set.sample_bytes()));
  for (std::int64_t id = 0; id < kSamples; ++id) {
    set.read(id, picture.data());
    EXPECT_EQ(picture, SmallSet::picture(id, kHeight, kWidth)) << id;
    EXPECT_EQ(set.labels()[static_cast<std::size_t>(id)], SmallSet::label(id));
    EXPECT_EQ(set.stored_checksum(id), digest_sample(picture).checksum);
    EXPECT_EQ(paths[static_cast<std::size_t>(id)], std::to_string(id) + ".png");
  }
}

TEST(ShardReader, AfterOpeningNoHdf5CallIsMade) {
  const SmallSet made(kSamples, kHeight, kWidth, 3);
  const std::int64_t before = hdf5_call_count();
  const ShardSet set(made.folder());
  const std::int64_t opened = hdf5_call_count();
  EXPECT_GT(opened, before) << "the counter does not count";
  EXPECT_EQ(differing(set), 0);
  EXPECT_EQ(hdf5_call_count(), opened);
}

TEST(ShardReader, ASampleOutOfRangeIsAnError) {
  const SmallSet made(kSamples, kHeight, kWidth);
  const ShardSet set(made.folder());
  std::vector<std::uint8_t> picture(static_cast<std::size_t>(set.sample_bytes()));
  EXPECT_THROW(set.read(-1, picture.data()), Error);
  EXPECT_THROW(set.read(kSamples, picture.data()), Error);
  EXPECT_THROW((void)set.stored_checksum(kSamples), Error);
}

TEST(ShardReader, AFileCutWhileOpenIsAnErrorThatNamesTheSample) {
  const SmallSet made(kSamples, kHeight, kWidth, 1);
  const ShardSet set(made.folder());
  fs::resize_file(made.folder() + "/00000.h5", 700);
  std::vector<std::uint8_t> picture(static_cast<std::size_t>(set.sample_bytes()));
  try {
    set.read(kSamples - 1, picture.data());
    FAIL() << "a sample beyond the end was read";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("00000.h5"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("sample 22"), std::string::npos) << error.what();
  }
}

class OtherLayout : public ::testing::TestWithParam<Rewrite> {};

TEST_P(OtherLayout, IsReadThroughHdf5Correctly) {
  const SmallSet made(kSamples, kHeight, kWidth, 2);
  rewrite_images(made.folder() + "/00001.h5", GetParam());
  const ShardSet set(made.folder());
  EXPECT_EQ(set.slow_shards(), 1);
  const std::int64_t opened = hdf5_call_count();
  EXPECT_EQ(differing(set), 0);
  EXPECT_GT(hdf5_call_count(), opened);
}

INSTANTIATE_TEST_SUITE_P(All, OtherLayout,
                         ::testing::Values(Rewrite::kChunked, Rewrite::kCompressed,
                                           Rewrite::kExternal, Rewrite::kCompact));

}  // namespace
}  // namespace lockstep::data
