#include "lockstep/base/seed.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>

namespace lockstep {
namespace {

using Words = std::array<std::uint32_t, 4>;

// philox4x32 with 10 rounds, from the known-answer file kat_vectors of Random123.
TEST(Philox, MatchesTheKnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffffffffffffULL),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822ULL),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, RandomWordsPutsItemAndBlockIntoTheCounterLowWordFirst) {
  EXPECT_EQ(random_words(0x299f31d0a4093822ULL, 0x85a308d3243f6a88ULL, 0x0370734413198a2eULL),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// The first outputs of splitmix64 from state 0: its step adds the same constant before it mixes.
TEST(Mix64, MatchesSplitmix64) {
  EXPECT_EQ(mix64(0), 0xE220A8397B1DCDAFULL);
  EXPECT_EQ(mix64(0x9E3779B97F4A7C15ULL), 0x6E789E6AA1B965F4ULL);
  EXPECT_EQ(mix64(2 * 0x9E3779B97F4A7C15ULL), 0x06C45D188009454FULL);
}

TEST(DeriveKey, FoldsItsPartsInOrder) {
  std::uint64_t key = mix64(42);
  key = mix64(key ^ 3U);
  key = mix64(key ^ 17U);
  key = mix64(key ^ 5U);
  EXPECT_EQ(derive_key(42, Stream::kDropout, 17, 5), key);
}

TEST(DeriveKey, EveryPartMatters) {
  std::set<std::uint64_t> keys;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    for (const Stream stream : {Stream::kEpochOrder, Stream::kAugmentation, Stream::kDropout,
                                Stream::kInit, Stream::kHoldout, Stream::kPacking}) {
      for (std::uint64_t a = 0; a < 6; ++a) {
        for (std::uint64_t b = 0; b < 6; ++b) {
          keys.insert(derive_key(seed, stream, a, b));
        }
      }
    }
  }
  EXPECT_EQ(keys.size(), 6U * 6U * 6U * 6U);
}

TEST(Bounded, SpreadsWordsEvenly) {
  EXPECT_EQ(bounded(0, 9), 0U);
  EXPECT_EQ(bounded(0xffffffffU, 9), 8U);
  EXPECT_EQ(bounded(0x80000000U, 9), 4U);
  EXPECT_EQ(unit_interval(0), 0.0);
  EXPECT_EQ(unit_interval(0x40000000U), 0.25);
  EXPECT_LT(unit_interval(0xffffffffU), 1.0);
}

}  // namespace
}  // namespace lockstep
