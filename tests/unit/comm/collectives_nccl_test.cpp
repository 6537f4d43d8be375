#include "lockstep/comm/collectives_nccl.hpp"

#include <gtest/gtest.h>
#include <torch/cuda.h>
#include <torch/types.h>

#include <string>

#include "lockstep/comm/gradient_reducer.hpp"

namespace lockstep::comm {
namespace {

TEST(NcclCollectives, WithoutADeviceTheErrorNamesNccl) {
  if (torch::cuda::is_available()) GTEST_SKIP() << "this build and machine have a device";
  const auto control = make_serial_collectives();
  try {
    static_cast<void>(make_nccl_collectives(*control, 5));
    FAIL() << "a communicator without a device";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("NCCL"), std::string::npos) << error.what();
  }
}

TEST(NcclCollectives, AWorldOfOneKeepsItsValues) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  const auto control = make_serial_collectives();
  const auto collectives = make_nccl_collectives(*control, 30);
  for (const std::int64_t count : {0, 1, 1001, 300007}) {
    const at::Tensor values = at::arange(count, at::device(at::kCUDA).dtype(at::kFloat));
    const auto n = static_cast<std::size_t>(count);
    collectives->all_reduce(values.data_ptr(), n, DataType::kFloat32, ReduceOp::kSum);
    collectives->broadcast(values.data_ptr(), n, DataType::kFloat32, 0);
    EXPECT_TRUE(values.cpu().equal(at::arange(count, at::kFloat))) << count;
  }
  EXPECT_EQ(collectives->sum(2.5), 2.5);
  EXPECT_EQ(collectives->all_gather("mine"), std::vector<std::string>{"mine"});
}

TEST(NcclCollectives, TheReducerSumsOnTheDevice) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  const auto control = make_serial_collectives();
  const auto collectives = make_nccl_collectives(*control, 30);
  const at::Tensor weight =
      at::ones({3, 5}, at::device(at::kCUDA).dtype(at::kFloat)).set_requires_grad(true);
  GradientReducer reducer({{"weight", weight}}, *collectives);
  reducer.zero();
  reducer.arm();
  (weight.sum() * 2).backward();
  reducer.finish();
  EXPECT_DOUBLE_EQ(reducer.norm(), std::sqrt(4.0 * 15));
}

}  // namespace
}  // namespace lockstep::comm
