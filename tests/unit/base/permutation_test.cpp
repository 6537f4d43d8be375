#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "lockstep/base/seed.hpp"

namespace lockstep {
namespace {

void expect_bijective(std::uint64_t key, std::uint64_t size) {
  const Permutation order(key, size);
  std::vector<bool> seen(size, false);
  for (std::uint64_t i = 0; i < size; ++i) {
    const std::uint64_t image = order(i);
    ASSERT_LT(image, size) << "size " << size << ", position " << i;
    ASSERT_FALSE(seen[image]) << "size " << size << ", position " << i;
    seen[image] = true;
  }
}

/// How far a chi-square statistic lies from its mean, in standard deviations.
double deviations(const std::vector<std::int64_t>& counts, double expected) {
  double chi_square = 0;
  for (const std::int64_t count : counts) {
    const double difference = static_cast<double>(count) - expected;
    chi_square += difference * difference / expected;
  }
  const auto freedom = static_cast<double>(counts.size() - 1);
  return (chi_square - freedom) / std::sqrt(2 * freedom);
}

TEST(Permutation, IsABijectionForEverySmallSize) {
  for (std::uint64_t size = 1; size <= 300; ++size) {
    expect_bijective(derive_key(7, Stream::kEpochOrder, size), size);
  }
}

TEST(Permutation, IsABijectionForLargeSizes) {
  for (const std::uint64_t size : {45000ULL, 65536ULL, 65537ULL, 1000003ULL}) {
    expect_bijective(mix64(size), size);
  }
}

TEST(Permutation, StaysInsideVeryLargeSizes) {
  for (const std::uint64_t size : {(1ULL << 40U) + 1, (1ULL << 62U) - 1, 1ULL << 62U}) {
    const Permutation order(3, size);
    for (std::uint64_t i = 0; i < 1000; ++i) {
      ASSERT_LT(order(i), size);
      ASSERT_LT(order(size - 1 - i), size);
    }
  }
}

TEST(Permutation, IsAPureFunctionOfKeyAndSize) {
  const Permutation first(11, 1000);
  const Permutation again(11, 1000);
  const Permutation other(12, 1000);
  int same = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(first(i), again(999 - (999 - i)));
    same += first(i) == other(i) ? 1 : 0;
  }
  EXPECT_LT(same, 10);  // two random orders agree at one position on average
}

// Saved runs depend on these values: a change of the permutation breaks them.
TEST(Permutation, KeepsItsOrderForever) {
  const Permutation order(derive_key(1, Stream::kEpochOrder, 0), 10);
  std::vector<std::uint64_t> images;
  for (std::uint64_t i = 0; i < 10; ++i) {
    images.push_back(order(i));
  }
  EXPECT_EQ(images, (std::vector<std::uint64_t>{4, 6, 0, 8, 2, 9, 5, 7, 3, 1}));
}

TEST(Permutation, EveryOrderOfAFewIsEquallyLikely) {
  for (const auto& [size, orders] :
       std::map<std::uint64_t, std::size_t>{{2, 2}, {3, 6}, {4, 24}, {5, 120}, {6, 720}}) {
    constexpr int kKeysPerOrder = 200;
    std::map<std::vector<std::uint64_t>, std::int64_t> counts;
    for (std::uint64_t key = 0; key < kKeysPerOrder * orders; ++key) {
      const Permutation order(mix64(key), size);
      std::vector<std::uint64_t> images;
      images.reserve(size);
      for (std::uint64_t i = 0; i < size; ++i) {
        images.push_back(order(i));
      }
      ++counts[images];
    }
    EXPECT_EQ(counts.size(), orders) << "size " << size;
    std::vector<std::int64_t> values;
    values.reserve(counts.size());
    for (const auto& entry : counts) {
      values.push_back(entry.second);
    }
    EXPECT_LT(deviations(values, kKeysPerOrder), 5) << "size " << size;
  }
}

TEST(Permutation, PutsEverySampleAnywhereEquallyOften) {
  constexpr std::uint64_t kSize = 23;
  constexpr int kKeys = 23 * 200;
  std::vector<std::int64_t> counts(kSize * kSize, 0);
  for (int key = 0; key < kKeys; ++key) {
    const Permutation order(derive_key(5, Stream::kEpochOrder, static_cast<std::uint64_t>(key)),
                            kSize);
    for (std::uint64_t i = 0; i < kSize; ++i) {
      ++counts[i * kSize + order(i)];
    }
  }
  EXPECT_LT(deviations(counts, static_cast<double>(kKeys) / kSize), 5);
}

// A batch of neighbours in a sorted set would hold one class: the distances of the images of
// neighbours are those of random pairs.
TEST(Permutation, TearsNeighboursApart) {
  constexpr std::uint64_t kSize = 50000;
  constexpr std::size_t kBins = 20;
  const Permutation order(derive_key(1, Stream::kEpochOrder, 0), kSize);
  std::vector<std::int64_t> bins(kBins, 0);
  for (std::uint64_t i = 0; i + 1 < kSize; ++i) {
    const std::uint64_t step = (order(i + 1) + kSize - order(i)) % kSize;
    ++bins[step * kBins / kSize];
  }
  EXPECT_LT(deviations(bins, static_cast<double>(kSize - 1) / kBins), 5);
}

}  // namespace
}  // namespace lockstep
