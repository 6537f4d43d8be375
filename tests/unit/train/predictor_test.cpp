// The ranking of logits.
#include "lockstep/train/predictor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lockstep::train {
namespace {

using Classes = std::vector<std::int64_t>;

Prediction top(const std::vector<double>& logits, std::int64_t k) {
  return top_classes(logits.data(), static_cast<std::int64_t>(logits.size()), k);
}

TEST(TopClasses, LargestFirstAndOfEqualOnesTheLower) {
  EXPECT_EQ(top({0.1, 2, -1, 2, 0.5}, 3).classes, (Classes{1, 3, 4}));
  EXPECT_EQ(top({1, 1, 1}, 2).classes, (Classes{0, 1}));
  EXPECT_EQ(top({5}, 9).classes, (Classes{0}));
}

TEST(TopClasses, ProbabilitiesAreTheSoftmaxOverAll) {
  const Prediction two = top({std::log(6.0), std::log(1.0), std::log(3.0)}, 2);
  EXPECT_EQ(two.classes, (Classes{0, 2}));
  EXPECT_NEAR(two.probabilities[0], 0.6, 1e-15);
  EXPECT_NEAR(two.probabilities[1], 0.3, 1e-15);
  // No overflow, whatever the size of the logits.
  EXPECT_EQ(top({1e4, -1e4}, 2).probabilities, (std::vector<double>{1, 0}));
}

TEST(TopClasses, WhatIsNoNumberComesLast) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Prediction all = top({kNan, 0, kNan, 0}, 4);
  EXPECT_EQ(all.classes, (Classes{1, 3, 0, 2}));
  EXPECT_FALSE(all.finite()) << "no share of what is no number";
  EXPECT_FALSE(top({kNan, kNan}, 2).finite());
  EXPECT_FALSE(top({kInfinity, 0}, 1).finite());
  EXPECT_TRUE(top({-kInfinity, 0}, 2).finite());
}

}  // namespace
}  // namespace lockstep::train
