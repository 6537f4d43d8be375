// What the loader does when files are damaged, and what its limits on threads and memory do.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <thread>

#include "lockstep/base/check.hpp"
#include "lockstep/data/loader.hpp"
#include "lockstep/data/shard_reader.hpp"
#include "small_set.hpp"

namespace lockstep::data {
namespace {

/// 100 samples in batches of 10, in order.
std::unique_ptr<Loader> ordered_loader(const ShardSet& set, std::int64_t threads,
                                       std::int64_t prefetch) {
  SamplerOptions sampling;
  sampling.samples = set.size();
  sampling.batch_size = 10;
  sampling.shuffle = false;
  LoaderOptions options;
  options.threads = threads;
  options.prefetch = prefetch;
  options.augment = false;
  std::vector<std::int64_t> subset(static_cast<std::size_t>(set.size()));
  std::iota(subset.begin(), subset.end(), 0);
  return std::make_unique<Loader>(set, subset, Sampler(sampling), options);
}

TEST(LoaderErrors, ReachTheBatchThatTheyBelongTo) {
  const SmallSet files(100, 32, 32, 2);
  const ShardSet set(files.folder());
  // After opening, the second shard (samples 50 to 99) loses its pictures.
  std::filesystem::resize_file(std::filesystem::path(files.folder()) / shard_file_name(1), 100);
  for (const std::int64_t threads : {1, 4}) {
    for (const std::int64_t prefetch : {1, 8}) {
      const auto loader = ordered_loader(set, threads, prefetch);
      loader->start_epoch(0, 0, 10);
      Batch batch;
      for (std::int64_t update = 0; update < 5; ++update) {
        ASSERT_TRUE(loader->next(batch));
        EXPECT_EQ(batch.ids.front(), update * 10);
      }
      for (int again = 0; again < 3; ++again) {  // going on is no way around it
        try {
          static_cast<void>(loader->next(batch));
          FAIL() << "no error";
        } catch (const Error& error) {
          EXPECT_NE(std::string(error.what()).find(shard_file_name(1)), std::string::npos)
              << error.what();
        }
      }
      // A new epoch begins afresh.
      loader->start_epoch(1, 0, 5);
      std::int64_t count = 0;
      while (loader->next(batch)) ++count;
      EXPECT_EQ(count, 5);
    }
  }
}

std::int64_t bytes_read_by_process() {
  std::ifstream file("/proc/self/io");
  std::string key;
  std::int64_t value = -1;
  return file >> key >> value && key == "rchar:" ? value : -1;
}

TEST(LoaderLimits, PrefetchBoundsWhatIsReadAhead) {
  if (bytes_read_by_process() < 0) GTEST_SKIP() << "/proc/self/io cannot be read";
  const SmallSet files(100, 32, 32, 2);
  const ShardSet set(files.folder());
  for (const std::int64_t prefetch : {1, 2, 5}) {
    const auto loader = ordered_loader(set, 3, prefetch);
    const std::int64_t before = bytes_read_by_process();
    const std::int64_t batch_bytes = 10 * set.sample_bytes();
    loader->start_epoch(0, 0, 10);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (bytes_read_by_process() - before < prefetch * batch_bytes) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "prefetch " << prefetch;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    // Half a batch for what the waiting above read itself.
    EXPECT_LT(bytes_read_by_process() - before, prefetch * batch_bytes + batch_bytes / 2);
  }
}

std::int64_t threads_of_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

TEST(LoaderLimits, StartsTheThreadsThatWereAskedForAndEndsThem) {
  const SmallSet files(10, 4, 4, 1);
  const ShardSet set(files.folder());
  const std::int64_t before = threads_of_process();
  for (const std::int64_t threads : {1, 5}) {
    const auto loader = ordered_loader(set, threads, 2);
    EXPECT_EQ(threads_of_process(), before + threads);
  }
}

TEST(LoaderLimits, MeasuresWaitingSinceTheEpochBegan) {
  const SmallSet files(400, 64, 64, 1);
  const ShardSet set(files.folder());
  SamplerOptions sampling;
  sampling.samples = 400;
  sampling.batch_size = 400;
  std::vector<std::int64_t> subset(400);
  std::iota(subset.begin(), subset.end(), 0);
  Loader loader(set, subset, Sampler(sampling), LoaderOptions{});
  Batch batch;

  const auto begin = std::chrono::steady_clock::now();
  loader.start_epoch(0, 0, 1);
  EXPECT_EQ(loader.waited_seconds(), 0);
  ASSERT_TRUE(loader.next(batch));  // 400 pictures cannot be there yet
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  const double waited = loader.waited_seconds();
  EXPECT_GT(waited, 0);
  EXPECT_LE(waited, elapsed.count());

  // Whoever comes late does not wait.
  loader.start_epoch(1, 0, 1);
  EXPECT_EQ(loader.waited_seconds(), 0);
  std::this_thread::sleep_for(std::chrono::duration<double>(0.2 + 4 * waited));
  ASSERT_TRUE(loader.next(batch));
  EXPECT_LT(loader.waited_seconds(), waited);
}

}  // namespace
}  // namespace lockstep::data
