#include "lockstep/train/device.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockstep::train {
namespace {

std::string answer(const std::string& host, const std::string& gpu,
                   const std::string& problem = "") {
  return R"({"host":")" + host + R"(","gpu":")" + gpu + R"(","problem":")" + problem + "\"}";
}

TEST(GpuShortage, NoneWhenEveryRankHasItsOwn) {
  EXPECT_EQ(gpu_shortage({answer("n1", "a"), answer("n1", "b"), answer("n2", "a")}), "");
}

TEST(GpuShortage, NamesTheFirstRankWithoutAGpu) {
  EXPECT_EQ(gpu_shortage({answer("n1", "a"), answer("n2", "", "sees no GPU"), answer("n2", "")}),
            "rank 1 on n2 sees no GPU");
}

TEST(GpuShortage, NamesRanksThatWouldShareOne) {
  EXPECT_EQ(gpu_shortage({answer("n1", "a"), answer("n1", "b"), answer("n1", "a")}),
            "rank 2 on n1 would share its GPU with rank 0");
}

TEST(ChooseDevice, CpuAsksNobodyAndAutoSaysWhyItIsTheCpu) {
  const auto alone = comm::make_serial_collectives();
  EXPECT_TRUE(choose_device("cpu", *alone).device.is_cpu());
  EXPECT_EQ(choose_device("cpu", *alone).why_no_gpu, "");
  const DeviceChoice found = choose_device("auto", *alone);
  EXPECT_EQ(found.device.is_cpu(), !found.why_no_gpu.empty());
}

TEST(PlanThreads, TakesTheOptionOrAShareOfTheCores) {
  const auto alone = comm::make_serial_collectives();
  EXPECT_EQ(plan_threads(3, *alone).threads, 3);
  EXPECT_GE(plan_threads(0, *alone).threads, 1);
  EXPECT_THROW((void)plan_threads(1'000'000, *alone), comm::AgreedError);
}

}  // namespace
}  // namespace lockstep::train
