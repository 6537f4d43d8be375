#include "lockstep/base/partition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace lockstep {
namespace {

TEST(PartOf, PartsAreDisjointCoverTheWholeAndDifferByAtMostOne) {
  for (std::int64_t n = 0; n <= 40; ++n) {
    for (std::int64_t parts = 1; parts <= 9; ++parts) {
      const Range whole{100, 100 + n};
      std::int64_t next = whole.begin;
      std::int64_t smallest = n + 1;
      std::int64_t largest = -1;
      for (std::int64_t part = 0; part < parts; ++part) {
        const Range range = part_of(whole, part, parts);
        ASSERT_EQ(range.begin, next) << n << " samples, part " << part << " of " << parts;
        ASSERT_GE(range.size(), 0);
        next = range.end;
        smallest = std::min(smallest, range.size());
        largest = std::max(largest, range.size());
      }
      ASSERT_EQ(next, whole.end);
      ASSERT_LE(largest - smallest, 1);
    }
  }
}

TEST(PartOf, FollowsTheFormula) {
  EXPECT_EQ(part_of({0, 37}, 1, 3), (Range{12, 24}));
  EXPECT_EQ(part_of({10, 13}, 0, 4), (Range{10, 10}));
  EXPECT_EQ(part_of({10, 13}, 3, 4), (Range{12, 13}));
}

}  // namespace
}  // namespace lockstep
