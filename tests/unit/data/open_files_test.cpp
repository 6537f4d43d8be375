#include "data/open_files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>

#include "lockstep/base/check.hpp"
#include "lockstep/data/shard_reader.hpp"
#include "rewrite_images.hpp"
#include "small_set.hpp"

namespace lockstep::data {
namespace {

/// Sets the soft limit on open files and puts it back.
class SoftLimit {
 public:
  explicit SoftLimit(rlim_t soft) {
    if (::getrlimit(RLIMIT_NOFILE, &before_) != 0) throw std::runtime_error("no limit");
    const rlimit low{soft, before_.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &low) != 0) throw std::runtime_error("the limit stays");
  }
  ~SoftLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  SoftLimit(const SoftLimit&) = delete;
  SoftLimit& operator=(const SoftLimit&) = delete;
  [[nodiscard]] rlim_t hard() const { return before_.rlim_max; }
  [[nodiscard]] static rlim_t now() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
  }

 private:
  rlimit before_{};
};

constexpr std::int64_t kShards = 90;

std::int64_t open_now() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}) - 1;
}

TEST(OpenFiles, ALowSoftLimitIsRaisedForASetOfManyShards) {
  const SmallSet made(kShards, 2, 2, kShards);
  const SoftLimit low(64);
  const ShardSet set(made.folder());
  EXPECT_GE(SoftLimit::now(), static_cast<rlim_t>(kShards));
  std::vector<std::uint8_t> picture(static_cast<std::size_t>(set.sample_bytes()));
  for (std::int64_t id = 0; id < kShards; ++id) {
    set.read(id, picture.data());
    EXPECT_EQ(picture, SmallSet::picture(id, 2, 2));
  }
  const ShardSet second(made.folder());  // those that are open already count
  EXPECT_EQ(second.size(), kShards);
}

TEST(OpenFiles, AHighEnoughLimitStaysAsItIs) {
  const SmallSet made(3, 2, 2, 3);
  const SoftLimit enough(1000);
  const ShardSet set(made.folder());
  EXPECT_EQ(SoftLimit::now(), 1000U);
}

TEST(OpenFiles, AShardIsOneOpenFileWhateverItsLayout) {
  const SmallSet made(8, 4, 4, 4);
  rewrite_images(made.folder() + "/00001.h5", Rewrite::kChunked);
  const std::int64_t before = open_now();
  const ShardSet set(made.folder());
  EXPECT_EQ(set.slow_shards(), 1);
  EXPECT_EQ(open_now(), before + 4);
}

TEST(OpenFiles, TooManyShardsAreNamedWithTheLimit) {
  const SoftLimit low(64);
  if (low.hard() == RLIM_INFINITY) GTEST_SKIP() << "no hard limit to run into";
  const auto shards = static_cast<std::int64_t>(low.hard());
  try {
    allow_open_shards("some/set", shards);
    FAIL() << "so many files cannot be open";
  } catch (const Error& error) {
    const std::string text = error.what();
    for (const std::string& word :
         {std::string("'some/set'"), std::to_string(shards) + " shards",
          std::to_string(low.hard()) + " open files", std::string("ulimit -n")}) {
      EXPECT_NE(text.find(word), std::string::npos) << "'" << word << "' is missing in: " << text;
    }
  }
}

}  // namespace
}  // namespace lockstep::data
