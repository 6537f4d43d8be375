#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include "lockstep/base/check.hpp"
#include "lockstep/base/seed.hpp"
#include "lockstep/model/layers.hpp"

namespace lockstep::model {
namespace {

constexpr double kProbability = 0.3;

// The documented definition, one element at a time.
double expected_factor(std::uint64_t seed, std::int64_t update, std::int64_t layer, std::int64_t id,
                       std::int64_t element) {
  std::uint64_t k = mix64(seed);
  k = mix64(k ^ 3U);
  k = mix64(k ^ static_cast<std::uint64_t>(update));
  k = mix64(k ^ static_cast<std::uint64_t>(layer));
  const auto item = static_cast<std::uint64_t>(id);
  const auto block = static_cast<std::uint64_t>(element / 4);
  const auto words =
      philox4x32({static_cast<std::uint32_t>(item), static_cast<std::uint32_t>(item >> 32U),
                  static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32U)},
                 k);
  const double u = words[static_cast<std::size_t>(element % 4)] / 4294967296.0;
  return u < kProbability ? 0.0 : 1.0 / (1.0 - kProbability);
}

TEST(DropoutTest, MaskEqualsItsDefinition) {
  const std::vector<std::int64_t> ids{7, 123456789012345, 0};
  const StepContext context{Phase::kTrain, 99, 5, ids.data()};
  for (const auto type : {at::kFloat, at::kDouble}) {
    for (const bool channels_last : {false, true}) {
      Dropout dropout(kProbability, 2);
      at::Tensor x = at::ones({3, 5, 3, 7}, type);
      if (channels_last) x = x.contiguous(at::MemoryFormat::ChannelsLast);
      x.requires_grad_(true);
      const at::Tensor y = dropout.forward(x, context);
      EXPECT_EQ(y.strides(), x.strides());
      y.sum().backward();
      EXPECT_TRUE(at::equal(x.grad(), y.detach())) << "the gradient takes the same mask";
      const at::Tensor flat = y.detach().contiguous().view({3, -1}).to(at::kDouble);
      for (std::int64_t s = 0; s < 3; ++s) {
        for (std::int64_t e = 0; e < flat.size(1); ++e) {
          const double expected = expected_factor(99, 5, 2, ids[static_cast<std::size_t>(s)], e);
          ASSERT_NEAR(flat[s][e].item<double>(), expected, 1e-7) << s << " " << e;
        }
      }
    }
  }
}

at::Tensor mask(std::uint64_t seed, std::int64_t update, std::int64_t layer,
                const std::vector<std::int64_t>& ids, Phase phase = Phase::kTrain) {
  Dropout dropout(kProbability, layer);
  return dropout.forward(at::ones({static_cast<std::int64_t>(ids.size()), 1001}),
                         {phase, seed, update, ids.data()});
}

TEST(DropoutTest, MaskDependsOnKeyAlone) {
  const at::Tensor all = mask(1, 2, 3, {10, 11, 12, 13});
  EXPECT_TRUE(at::equal(mask(1, 2, 3, {12, 10}), all.index_select(0, at::tensor({2, 0}))));
  EXPECT_TRUE(at::equal(mask(1, 2, 3, {10, 11, 12, 13}, Phase::kRecompute), all));
  EXPECT_FALSE(at::equal(mask(2, 2, 3, {10, 11, 12, 13}), all));
  EXPECT_FALSE(at::equal(mask(1, 3, 3, {10, 11, 12, 13}), all));
  EXPECT_FALSE(at::equal(mask(1, 2, 4, {10, 11, 12, 13}), all));
}

TEST(DropoutTest, DropsThePart) {
  std::vector<std::int64_t> ids(100);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i);
  const at::Tensor m = mask(1, 0, 0, ids);
  // 100,100 draws: five standard deviations are 0.0073.
  EXPECT_NEAR((m == 0).to(at::kDouble).mean().item<double>(), kProbability, 0.0073);
  EXPECT_NEAR(m.mean().item<double>(), 1.0, 0.011);
}

TEST(DropoutTest, IdentityOutsideTraining) {
  const at::Tensor x = at::rand({2, 3});
  const std::vector<std::int64_t> ids{0, 1};
  EXPECT_TRUE(Dropout(0.5, 0).forward(x, StepContext{}).is_same(x));
  EXPECT_TRUE(Dropout(0, 0).forward(x, {Phase::kTrain, 1, 0, ids.data()}).is_same(x));
}

TEST(DropoutTest, EmptyBatch) {
  const at::Tensor x = at::ones({0, 4, 2, 2}).requires_grad_(true);
  const at::Tensor y = Dropout(0.5, 0).forward(x, {Phase::kTrain, 1, 0, nullptr});
  EXPECT_EQ(y.sizes(), x.sizes());
  y.sum().backward();
  EXPECT_EQ(x.grad().sizes(), x.sizes());
}

TEST(DropoutTest, BadUseIsAnError) {
  EXPECT_THROW(Dropout(1.0, 0), UsageError);
  EXPECT_THROW(Dropout(-0.1, 0), UsageError);
  EXPECT_THROW((void)Dropout(0.5, 0).forward(at::ones({2, 3}), {Phase::kTrain, 1, 0, nullptr}),
               Error);
}

}  // namespace
}  // namespace lockstep::model
