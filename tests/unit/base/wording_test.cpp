#include "lockstep/base/wording.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace lockstep {
namespace {

TEST(Wording, CountsInOneOrMany) {
  EXPECT_EQ(counted(0, "shard"), "0 shards");
  EXPECT_EQ(counted(1, "shard"), "1 shard");
  EXPECT_EQ(counted(2, "update"), "2 updates");
}

TEST(Wording, LossesStayShort) {
  EXPECT_EQ(loss_text(2.302585), "2.3026");
  EXPECT_EQ(loss_text(0), "0.0000");
  EXPECT_EQ(loss_text(999999.5), "999999.5000");
  EXPECT_EQ(loss_text(1e6), "1e+06");
  EXPECT_EQ(loss_text(1.23456e300), "1.235e+300");
  EXPECT_EQ(loss_text(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_TRUE(loss_text(std::numeric_limits<double>::quiet_NaN()).ends_with("nan"));
}

}  // namespace
}  // namespace lockstep
