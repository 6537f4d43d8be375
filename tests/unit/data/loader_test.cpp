#include "lockstep/data/loader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "lockstep/base/check.hpp"
#include "lockstep/data/shard_reader.hpp"
#include "small_set.hpp"

namespace lockstep::data {
namespace {

constexpr std::int64_t kHeight = 6;
constexpr std::int64_t kWidth = 5;
constexpr std::int64_t kElements = kHeight * kWidth * 3;
constexpr std::int64_t kSamples = 61;

/// What a batch holds, copied out of its buffer.
struct Content {
  MicroBatchPlan plan;
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> labels;
  std::vector<Transform> transforms;
  std::vector<double> pixels;
};

void expect_same(const Content& a, const Content& b) {
  EXPECT_EQ(a.plan.update, b.plan.update);
  EXPECT_EQ(a.plan.micro, b.plan.micro);
  EXPECT_EQ(a.plan.mine, b.plan.mine);
  EXPECT_EQ(a.ids, b.ids);
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_EQ(a.transforms, b.transforms);
  EXPECT_EQ(a.pixels, b.pixels);
}

Content content_of(const Batch& batch) {
  Content content{batch.plan, batch.ids, batch.labels, batch.transforms, {}};
  const auto count = static_cast<std::size_t>(batch.size() * batch.height * batch.width * 3);
  if (batch.float64) {
    const auto* values = static_cast<const double*>(batch.storage.get());
    content.pixels.assign(values, values + count);
  } else {
    const auto* values = static_cast<const float*>(batch.storage.get());
    content.pixels.assign(values, values + count);
  }
  return content;
}

std::vector<Content> rest_of_epoch(Loader& loader) {
  std::vector<Content> contents;
  Batch batch;
  while (loader.next(batch)) contents.push_back(content_of(batch));
  return contents;
}

class LoaderTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { files = new SmallSet(kSamples, kHeight, kWidth); }
  static void TearDownTestSuite() {
    delete files;
    files = nullptr;
  }

  LoaderTest() {
    sampling_.samples = kSamples;
    sampling_.batch_size = 16;
    sampling_.accumulation = 3;
    sampling_.seed = 4;
    options_.seed = 9;
    options_.augmentation.crop_padding = 2;
    options_.augmentation.pad_mode = PadMode::kReflect;
    options_.augmentation.flip = true;
    options_.augmentation.mean = {0.5, 0.4, 0.3};
    options_.augmentation.std = {0.25, 0.2, 0.1};
    subset_.resize(kSamples);
    std::iota(subset_.begin(), subset_.end(), 0);
  }

  [[nodiscard]] std::unique_ptr<Loader> make_loader() const {
    return std::make_unique<Loader>(set_, subset_, Sampler(sampling_), options_);
  }
  [[nodiscard]] std::int64_t updates() const { return Sampler(sampling_).updates_per_epoch(); }
  [[nodiscard]] std::vector<Content> whole_epoch(std::int64_t epoch) const {
    const auto loader = make_loader();
    loader->start_epoch(epoch, 0, updates());
    return rest_of_epoch(*loader);
  }

  /// The epoch by the formulas, without loader and files.
  [[nodiscard]] std::vector<Content> expected_epoch(std::int64_t epoch) const {
    const Sampler sampler(sampling_);
    const Augmenter<float> single(options_.augmentation, kHeight, kWidth, options_.layout);
    const Augmenter<double> twice(options_.augmentation, kHeight, kWidth, options_.layout);
    std::vector<Content> contents;
    for (std::int64_t u = 0; u < sampler.updates_per_epoch(); ++u) {
      for (const auto& plan : sampler.plan(u, options_.rank, options_.size)) {
        Content content{plan, {}, {}, {}, {}};
        for (std::int64_t p = plan.mine.begin; p < plan.mine.end; ++p) {
          const std::int64_t id = subset_[static_cast<std::size_t>(sampler.sample_at(epoch, p))];
          const auto transform =
              options_.augment ? draw_transform(options_.augmentation, options_.seed, epoch, id)
                               : identity_transform(options_.augmentation);
          const auto picture = SmallSet::picture(id, kHeight, kWidth);
          std::vector<float> floats(kElements);
          std::vector<double> doubles(kElements);
          single.apply(picture.data(), transform, floats.data());
          twice.apply(picture.data(), transform, doubles.data());
          if (!options_.float64) std::copy(floats.begin(), floats.end(), doubles.begin());
          content.ids.push_back(id);
          content.labels.push_back(SmallSet::label(id));
          content.transforms.push_back(transform);
          content.pixels.insert(content.pixels.end(), doubles.begin(), doubles.end());
        }
        contents.push_back(content);
      }
    }
    return contents;
  }

  static void expect_same_epoch(const std::vector<Content>& a, const std::vector<Content>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) expect_same(a[i], b[i]);
  }

  static SmallSet* files;
  ShardSet set_{files->folder()};
  std::vector<std::int64_t> subset_;
  SamplerOptions sampling_;
  LoaderOptions options_;
};

SmallSet* LoaderTest::files = nullptr;

TEST_F(LoaderTest, DeliversTheSameWithAnyNumberOfThreadsInBothTypesAndLayouts) {
  for (const bool float64 : {false, true}) {
    for (const Layout layout : {Layout::kChannelsLast, Layout::kContiguous}) {
      options_.float64 = float64;
      options_.layout = layout;
      const auto expected = expected_epoch(2);
      ASSERT_EQ(expected.size(), 12U);  // 16 + 16 + 16 + 13 samples, each cut in three
      for (std::int64_t threads = 1; threads <= 8; ++threads) {
        for (const std::int64_t prefetch : {1, 3}) {
          SCOPED_TRACE(testing::Message() << threads << " threads, prefetch " << prefetch);
          options_.threads = threads;
          options_.prefetch = prefetch;
          expect_same_epoch(whole_epoch(2), expected);
        }
      }
    }
  }
}

TEST_F(LoaderTest, RanksTogetherLoadWhatOneRankLoads) {
  options_.threads = 2;
  const auto alone = whole_epoch(0);
  for (const std::int64_t ranks : {2, 3, 7}) {
    std::vector<std::vector<Content>> parts;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      options_.rank = rank;
      options_.size = ranks;
      parts.push_back(whole_epoch(0));
      ASSERT_EQ(parts.back().size(), alone.size());
    }
    for (std::size_t b = 0; b < alone.size(); ++b) {
      Content joined{alone[b].plan, {}, {}, {}, {}};
      for (const auto& part : parts) {
        const Content& piece = part[b];
        joined.ids.insert(joined.ids.end(), piece.ids.begin(), piece.ids.end());
        joined.labels.insert(joined.labels.end(), piece.labels.begin(), piece.labels.end());
        joined.transforms.insert(joined.transforms.end(), piece.transforms.begin(),
                                 piece.transforms.end());
        joined.pixels.insert(joined.pixels.end(), piece.pixels.begin(), piece.pixels.end());
      }
      expect_same(joined, alone[b]);
    }
  }
}

TEST_F(LoaderTest, ARankWithoutSamplesGetsEmptyBatchesWithABuffer) {
  subset_ = {5, 9};
  sampling_.samples = 2;
  sampling_.accumulation = 1;
  options_.rank = 0;
  options_.size = 4;  // parts of 2 samples among 4: 0, 1, 0, 1
  const auto loader = make_loader();
  loader->start_epoch(0, 0, 1);
  Batch batch;
  ASSERT_TRUE(loader->next(batch));
  EXPECT_EQ(batch.size(), 0);
  EXPECT_EQ(batch.plan.micro_samples, 2);
  EXPECT_TRUE(batch.plan.last_of_update);
  EXPECT_EQ(batch.height, kHeight);
  EXPECT_NE(batch.storage, nullptr);
  EXPECT_FALSE(loader->next(batch));
}

TEST_F(LoaderTest, EvaluationIsNotAugmented) {
  options_.augment = false;
  sampling_.shuffle = false;
  const auto epoch = whole_epoch(0);
  expect_same_epoch(epoch, expected_epoch(0));
  for (const Content& batch : epoch) {
    for (const Transform& transform : batch.transforms) {
      EXPECT_EQ(transform, (Transform{2, 2, false}));
    }
  }
}

TEST_F(LoaderTest, SubsetsMapIndicesToSamples) {
  subset_ = {3, 60, 17, 4, 20};
  sampling_.samples = 5;
  expect_same_epoch(whole_epoch(1), expected_epoch(1));
}

TEST_F(LoaderTest, SeedsOfOrderAndAugmentationBothCount) {
  const auto before = whole_epoch(0);
  options_.seed += 1;
  const auto augmented = whole_epoch(0);
  EXPECT_EQ(augmented[0].ids, before[0].ids);
  EXPECT_NE(augmented[0].transforms, before[0].transforms);
  sampling_.seed += 1;
  EXPECT_NE(whole_epoch(0)[0].ids, before[0].ids);
}

TEST_F(LoaderTest, BeginsAndEndsInTheMiddleOfAnEpoch) {
  options_.threads = 3;
  const auto expected = expected_epoch(1);
  const auto loader = make_loader();
  loader->start_epoch(1, 1, 3);
  expect_same_epoch(rest_of_epoch(*loader), {expected.begin() + 3, expected.begin() + 9});
  loader->start_epoch(1, 2, 2);
  EXPECT_TRUE(rest_of_epoch(*loader).empty());
  EXPECT_THROW(loader->start_epoch(1, 0, 5), Error);
  EXPECT_THROW(loader->start_epoch(1, 3, 2), Error);
  EXPECT_THROW(loader->start_epoch(1, -1, 2), Error);
}

TEST_F(LoaderTest, ANewEpochDropsWhatWasUnderWay) {
  options_.threads = 4;
  options_.prefetch = 3;
  const auto loader = make_loader();
  Batch batch;
  EXPECT_FALSE(loader->next(batch));  // not started
  std::vector<std::vector<Content>> expected;
  for (std::int64_t epoch = 0; epoch < 5; ++epoch) expected.push_back(expected_epoch(epoch));
  for (int round = 0; round < 40; ++round) {
    const std::int64_t epoch = round % 5;
    loader->start_epoch(epoch, 0, updates());
    const auto& batches = expected[static_cast<std::size_t>(epoch)];
    for (int taken = 0; taken < round % 4; ++taken) {
      ASSERT_TRUE(loader->next(batch));
      expect_same(content_of(batch), batches[static_cast<std::size_t>(taken)]);
    }
  }
  loader->start_epoch(3, 0, updates());
  expect_same_epoch(rest_of_epoch(*loader), expected[3]);
  EXPECT_FALSE(loader->next(batch));
}

TEST_F(LoaderTest, EndsAtAnyMoment) {
  for (int round = 0; round < 60; ++round) {
    options_.threads = 1 + round % 8;
    options_.prefetch = 1 + round % 3;
    const auto loader = make_loader();
    if (round % 5 == 0) continue;  // never started
    loader->start_epoch(0, 0, updates());
    Batch batch;
    for (int taken = 0; taken < round % 6; ++taken) ASSERT_TRUE(loader->next(batch));
  }
}

TEST_F(LoaderTest, BuffersAreAlignedReusedAndNeverWhileInUse) {
  options_.threads = 2;
  options_.prefetch = 3;
  const auto loader = make_loader();
  std::set<void*> buffers;
  Batch batch;
  for (std::int64_t epoch = 0; epoch < 10; ++epoch) {
    loader->start_epoch(epoch, 0, updates());
    while (loader->next(batch)) {
      buffers.insert(batch.storage.get());
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(batch.storage.get()) % 64, 0U);
    }
  }
  EXPECT_GE(buffers.size(), 2U);
  EXPECT_LE(buffers.size(), 5U);  // the ring, the batch in use, and the one it replaces

  // Held batches: as many buffers as batches, and none of them is written again.
  const auto expected = expected_epoch(3);
  std::vector<Batch> held;
  loader->start_epoch(3, 0, updates());
  while (loader->next(batch)) held.push_back(batch);
  loader->start_epoch(4, 0, updates());
  EXPECT_EQ(rest_of_epoch(*loader).size(), expected.size());
  ASSERT_EQ(held.size(), expected.size());
  for (std::size_t i = 0; i < held.size(); ++i) expect_same(content_of(held[i]), expected[i]);
}

TEST_F(LoaderTest, BatchesOutliveTheLoader) {
  std::vector<Batch> held(3);
  auto loader = make_loader();
  loader->start_epoch(0, 0, updates());
  for (Batch& batch : held) ASSERT_TRUE(loader->next(batch));
  loader.reset();
  const auto expected = expected_epoch(0);
  for (std::size_t i = 0; i < held.size(); ++i) expect_same(content_of(held[i]), expected[i]);
  const std::shared_ptr<void> last = held.back().storage;
  held.clear();
  EXPECT_EQ(last.use_count(), 1);
}

TEST_F(LoaderTest, RefusesWhatDoesNotFit) {
  const auto fails = [this](const auto& change) {
    const auto options = options_;
    const auto subset = subset_;
    change();
    EXPECT_THROW((void)make_loader(), Error);
    options_ = options;
    subset_ = subset;
  };
  fails([this] { options_.threads = 0; });
  fails([this] { options_.prefetch = 0; });
  fails([this] { options_.rank = 1; });
  fails([this] { options_.augmentation.crop_padding = 5; });
  fails([this] { subset_.pop_back(); });
  fails([this] { subset_.back() = kSamples; });
  fails([this] { subset_.front() = -1; });
  EXPECT_NO_THROW((void)make_loader());
}

}  // namespace
}  // namespace lockstep::data
