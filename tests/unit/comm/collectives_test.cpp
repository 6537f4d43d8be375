// The null communicator: one rank, every operation the identity, the same refusals as over MPI.

#include "lockstep/comm/collectives.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockstep::comm {
namespace {

TEST(SerialCollectives, IsAWorldOfOne) {
  const auto serial = make_serial_collectives();
  EXPECT_EQ(serial->world().size, 1);
  EXPECT_EQ(serial->world().rank, 0);
  EXPECT_EQ(serial->world().local_size, 1);
  EXPECT_TRUE(serial->world().is_root());
}

TEST(SerialCollectives, OperationsAreTheIdentity) {
  const auto serial = make_serial_collectives();
  std::vector<float> values{1.5F, -2.0F, 3.25F};
  const auto work =
      serial->start_all_reduce(values.data(), values.size(), DataType::kFloat32, ReduceOp::kSum);
  EXPECT_TRUE(work->poll());
  work->wait();
  serial->all_reduce(nullptr, 0, DataType::kInt64, ReduceOp::kMax);
  serial->broadcast(values.data(), values.size(), DataType::kFloat32, 0);
  EXPECT_EQ(values, (std::vector<float>{1.5F, -2.0F, 3.25F}));
  EXPECT_EQ(serial->all_gather("mine"), std::vector<std::string>{"mine"});
  EXPECT_EQ(serial->sum(2.5), 2.5);
  EXPECT_EQ(serial->sum(std::int64_t{7}), 7);
  EXPECT_EQ(serial->max(std::int64_t{-7}), -7);
  EXPECT_EQ(serial->broadcast(0.125), 0.125);
  EXPECT_EQ(serial->broadcast(std::string("text")), "text");
}

TEST(SerialCollectives, RefusesWhatMpiWouldRefuse) {
  const auto serial = make_serial_collectives();
  std::uint8_t byte = 1;
  EXPECT_THROW(serial->all_reduce(&byte, 1, DataType::kByte, ReduceOp::kSum), Error);
  EXPECT_THROW(serial->all_reduce(&byte, 1, DataType::kByte, ReduceOp::kMax), Error);
  EXPECT_THROW(serial->broadcast(&byte, 1, DataType::kByte, 1), Error);
}

TEST(SerialCollectives, AgreementReportsItsOnlyRank) {
  const auto serial = make_serial_collectives();
  EXPECT_NO_THROW(all_agree(*serial, ""));
  EXPECT_NO_THROW(require_same(*serial, "a", "config"));
  try {
    agreed_phase(*serial, [] { throw UsageError("p", "w", "h"); });
    FAIL();
  } catch (const AgreedError& error) {
    EXPECT_STREQ(error.what(), "p (w) - h");
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_EQ(error.speaker(), 0);
  }
}

TEST(SerialCollectivesDeathTest, AbortLeavesWithTheCode) {
  const auto serial = make_serial_collectives();
  EXPECT_EXIT(serial->abort(85), ::testing::ExitedWithCode(85), "");
}

TEST(DataTypes, SizesInBytes) {
  EXPECT_EQ(size_of(DataType::kFloat32), sizeof(float));
  EXPECT_EQ(size_of(DataType::kFloat64), sizeof(double));
  EXPECT_EQ(size_of(DataType::kInt64), sizeof(std::int64_t));
  EXPECT_EQ(size_of(DataType::kByte), 1U);
}

}  // namespace
}  // namespace lockstep::comm
