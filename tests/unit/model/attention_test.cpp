#include "model/attention.hpp"

#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <cmath>

namespace lockstep::model {
namespace {

// Values that differ from element to element, the same on every machine.
void fill(SelfAttention& layer) {
  const at::NoGradGuard no_grad;
  double phase = 0;
  for (at::Tensor& p : layer.parameters()) {
    p.copy_((at::arange(p.numel(), at::kDouble) + phase).sin().view(p.sizes()));
    phase += 0.5;
  }
}

TEST(SelfAttentionTest, EqualsItsDefinition) {
  constexpr std::int64_t kSamples = 2, kTokens = 5, kFeatures = 6, kHeads = 3;
  SelfAttention layer(kFeatures, kHeads);
  layer.to(at::kDouble);
  fill(layer);
  const at::Tensor x = (at::arange(kSamples * kTokens * kFeatures, at::kDouble) * 0.7)
                           .cos()
                           .view({kSamples, kTokens, kFeatures});
  const at::Tensor y = layer.forward(x);
  ASSERT_EQ(y.sizes(), x.sizes());

  const auto p = layer.named_parameters();
  for (std::int64_t sample = 0; sample < kSamples; ++sample) {
    const at::Tensor qkv =
        x[sample].matmul(p["in_proj_weight"].t()) + p["in_proj_bias"];  // [T, 3F]
    std::vector<at::Tensor> heads;
    for (std::int64_t head = 0; head < kHeads; ++head) {
      constexpr std::int64_t kWidth = kFeatures / kHeads;
      const auto part = [&](std::int64_t index) {
        return qkv.narrow(1, index * kFeatures + head * kWidth, kWidth);
      };
      const at::Tensor scores = part(0).matmul(part(1).t()) / std::sqrt(double{kWidth});
      const at::Tensor exponents = scores.exp();
      heads.push_back((exponents / exponents.sum({1}, true)).matmul(part(2)));
    }
    const at::Tensor expected =
        at::cat(heads, 1).matmul(p["out_proj.weight"].t()) + p["out_proj.bias"];
    EXPECT_TRUE(at::allclose(y[sample], expected, 0, 1e-11)) << (y[sample] - expected).abs().max();
  }
}

TEST(SelfAttentionTest, EmptyBatchGivesZeroGradients) {
  for (const auto type : {at::kFloat, at::kDouble}) {
    SelfAttention layer(6, 3);
    layer.to(type);
    const at::Tensor x = at::ones({0, 5, 6}, type).requires_grad_(true);
    const at::Tensor y = layer.forward(x);
    EXPECT_EQ(y.sizes(), x.sizes());
    y.sum().backward();
    EXPECT_EQ(x.grad().sizes(), x.sizes());
    for (const auto& item : layer.named_parameters()) {
      ASSERT_TRUE(item.value().grad().defined()) << item.key();
      EXPECT_TRUE(at::equal(item.value().grad(), at::zeros_like(item.value()))) << item.key();
    }
  }
}

}  // namespace
}  // namespace lockstep::model
