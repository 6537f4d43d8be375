#include "comm/gradient_layout.hpp"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <cmath>
#include <numeric>

namespace lockstep::comm {
namespace {

using Layout = std::vector<std::vector<std::size_t>>;

TEST(BucketLayout, GoesFromTheLastParameterToTheFirst) {
  EXPECT_EQ(bucket_layout({4, 4, 4, 4, 4}, 4, 8), (Layout{{4}, {3, 2}, {1, 0}}));
  EXPECT_EQ(bucket_layout({4, 4, 4, 4, 4}, 8, 12), (Layout{{4, 3}, {2, 1, 0}}));
  EXPECT_EQ(bucket_layout({4, 4}, 100, 1), (Layout{{1, 0}}));
}

TEST(BucketLayout, AParameterLargerThanABucketStandsAlone) {
  EXPECT_EQ(bucket_layout({4, 100, 4}, 8, 8), (Layout{{2}, {1}, {0}}));
  EXPECT_EQ(bucket_layout({1, 1, 1}, 0, 0), (Layout{{2}, {1}, {0}}));
}

TEST(BucketLayout, NoParametersNoBuckets) { EXPECT_TRUE(bucket_layout({}, 8, 8).empty()); }

TEST(BucketLayout, EveryParameterIsInOneBucketWithinItsLimit) {
  for (std::size_t count = 1; count < 12; ++count) {
    std::vector<std::size_t> bytes(count);
    for (std::size_t i = 0; i < count; ++i) bytes[i] = 1 + (i * 7 + count) % 5;
    for (std::size_t first = 1; first < 12; ++first) {
      for (std::size_t limit = 1; limit < 12; ++limit) {
        std::size_t expected = count;
        const Layout layout = bucket_layout(bytes, first, limit);
        for (std::size_t k = 0; k < layout.size(); ++k) {
          std::size_t used = 0;
          for (const std::size_t index : layout[k]) {
            EXPECT_EQ(index, --expected);
            used += bytes[index];
          }
          EXPECT_TRUE(layout[k].size() == 1 || used <= (k == 0 ? first : limit));
        }
        EXPECT_EQ(expected, 0U);
      }
    }
  }
}

TEST(SumOfSquares, IsExactWhereFloat64Is) {
  for (const std::int64_t count : {0, 1, 7, 8, 9, 4096, 4097, 100003}) {
    // Squares of 0..9 repeated: whole periods of ten add 285.
    const at::Tensor digits = at::arange(count, at::kDouble).remainder(10);
    const std::int64_t tens = count / 10;
    double expected = 285.0 * static_cast<double>(tens);
    for (std::int64_t i = 0; i < count % 10; ++i) expected += static_cast<double>(i * i);
    EXPECT_EQ(sum_of_squares(digits), expected) << count;
    EXPECT_EQ(sum_of_squares(digits.to(at::kFloat)), expected) << count;
  }
}

TEST(SumOfSquares, DoesNotLoseSmallValuesInFloat32) {
  const at::Tensor values = at::full({1 << 20}, 1e-3F, at::kFloat);
  values[0] = 1e3F;
  const double small = static_cast<double>(1e-3F) * static_cast<double>(1e-3F);
  EXPECT_NEAR(sum_of_squares(values), 1e6 + small * ((1 << 20) - 1), 1e-6);
}

TEST(SumOfSquares, DoesNotDependOnTheThreads) {
  const at::Tensor values = at::sin(at::arange(200001, at::kDouble)).to(at::kFloat);
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const double one = sum_of_squares(values);
  at::set_num_threads(4);
  const double four = sum_of_squares(values);
  at::set_num_threads(before);
  EXPECT_EQ(one, four);
}

}  // namespace
}  // namespace lockstep::comm
