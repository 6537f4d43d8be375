#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include "lockstep/base/check.hpp"
#include "lockstep/model/layers.hpp"
#include "model/batch_norm_function.hpp"
#include "model/batch_norm_tensor_ops.hpp"
#include "support/batch_norm_reference.hpp"
#include "support/counting_collectives.hpp"

namespace lockstep::model {
namespace {

using test::batch_norm_reference;
using test::make_batch;
using test::relative_difference;

constexpr double kMomentum = 0.3;
const StepContext kTraining{.phase = Phase::kTrain};

struct Case {
  std::vector<std::int64_t> shape;
  at::ScalarType type;
  bool channels_last;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto type : {at::kFloat, at::kDouble}) {
    // More rows than one partial sum, odd planes, single pixels, two dimensions.
    for (const auto& shape : std::vector<std::vector<std::int64_t>>{{9, 3, 5, 7},
                                                                    {4, 32, 33, 31},
                                                                    {150, 5, 1, 1},
                                                                    {2, 600, 3, 3},
                                                                    {200, 7},
                                                                    {3, 1, 4, 4}}) {
      for (const bool channels_last : {false, true}) cases.push_back({shape, type, channels_last});
    }
  }
  return cases;
}

class SyncBatchNormTest : public ::testing::Test {
 protected:
  // A layer with weights that differ by channel.
  std::shared_ptr<SyncBatchNorm> make_layer(std::int64_t channels, at::ScalarType type) {
    auto layer = std::make_shared<SyncBatchNorm>(channels, kMomentum, comm_);
    const at::NoGradGuard no_grad;
    layer->weight.copy_(at::linspace(0.5, 1.5, channels));
    layer->bias.copy_(at::linspace(-1, 2, channels));
    layer->to(type, false);
    return layer;
  }
  test::CountingCollectives comm_;
};

TEST_F(SyncBatchNormTest, EqualsBatchNorm) {
  for (const auto& c : all_cases()) {
    const double tolerance = c.type == at::kDouble ? 1e-12 : 1e-5;
    auto layer = make_layer(c.shape[1], c.type);
    const at::Tensor x = make_batch(c.shape, c.type, c.channels_last, 1);
    const at::Tensor dy = make_batch(c.shape, c.type, c.channels_last, 2);
    const auto expected = batch_norm_reference(x, dy, layer->weight, layer->bias, kMomentum);

    const at::Tensor input = x.clone().requires_grad_(true);
    const at::Tensor y = layer->forward(input, kTraining);
    y.backward(dy);
    const auto where = ::testing::Message() << x.sizes() << x.dtype() << c.channels_last;
    EXPECT_LT(relative_difference(y, expected.y), tolerance) << where;
    EXPECT_LT(relative_difference(input.grad(), expected.dx), tolerance) << where;
    EXPECT_LT(relative_difference(layer->weight.grad(), expected.dweight), tolerance) << where;
    EXPECT_LT(relative_difference(layer->bias.grad(), expected.dbias), tolerance) << where;
    EXPECT_LT(relative_difference(layer->running_mean, expected.running_mean), tolerance) << where;
    EXPECT_LT(relative_difference(layer->running_var, expected.running_var), tolerance) << where;
    EXPECT_EQ(layer->num_batches_tracked.item<std::int64_t>(), 1);
    EXPECT_EQ(y.strides(), x.strides()) << where;
    EXPECT_EQ(y.scalar_type(), c.type);
  }
}

TEST_F(SyncBatchNormTest, OneAllReduceForwardOneBackward) {
  auto layer = make_layer(4, at::kFloat);
  const at::Tensor x = make_batch({3, 4, 2, 2}, at::kFloat, true, 1).requires_grad_(true);
  const at::Tensor y = layer->forward(x, kTraining);
  EXPECT_EQ(comm_.all_reduces, 1);
  y.sum().backward();
  EXPECT_EQ(comm_.all_reduces, 2);
  (void)layer->forward(x, StepContext{});
  EXPECT_EQ(comm_.all_reduces, 2) << "evaluation needs no other rank";
  layer->forward(x.detach(), kTraining).sum().backward();
  EXPECT_EQ(comm_.all_reduces, 3) << "no input gradient, no all-reduce backward";
}

// d(sum of y * r) by central differences.
TEST_F(SyncBatchNormTest, GradientEqualsFiniteDifferences) {
  auto layer = make_layer(2, at::kDouble);
  const at::Tensor x = make_batch({3, 2, 2, 2}, at::kDouble, false, 5).requires_grad_(true);
  const at::Tensor r = make_batch({3, 2, 2, 2}, at::kDouble, false, 6);
  (layer->forward(x, kTraining) * r).sum().backward();
  const StepContext recompute{.phase = Phase::kRecompute};
  constexpr double kStep = 1e-5;
  for (const at::Tensor& tensor : {x, layer->weight, layer->bias}) {
    at::Tensor flat = tensor.detach().view({-1});
    for (std::int64_t i = 0; i < flat.numel(); ++i) {
      const double value = flat[i].item<double>();
      flat[i].fill_(value + kStep);
      const double above = (layer->forward(x, recompute) * r).sum().item<double>();
      flat[i].fill_(value - kStep);
      const double below = (layer->forward(x, recompute) * r).sum().item<double>();
      flat[i].fill_(value);
      EXPECT_NEAR(tensor.grad().view({-1})[i].item<double>(), (above - below) / (2 * kStep), 1e-7);
    }
  }
}

TEST_F(SyncBatchNormTest, LargeMeanKeepsTheVarianceInFloat32) {
  for (const bool channels_last : {false, true}) {
    auto layer = make_layer(8, at::kFloat);
    const at::Tensor x =
        (make_batch({16, 8, 16, 16}, at::kDouble, channels_last, 1) + 1e4).to(at::kFloat);
    const at::Tensor dy = make_batch(x.sizes().vec(), at::kFloat, channels_last, 2);
    const auto expected = batch_norm_reference(x, dy, layer->weight, layer->bias, kMomentum);
    const at::Tensor input = x.clone().requires_grad_(true);
    const at::Tensor y = layer->forward(input, kTraining);
    y.backward(dy);
    EXPECT_LT(relative_difference(y, expected.y), 1e-6);
    EXPECT_LT(relative_difference(input.grad(), expected.dx), 1e-6);
    EXPECT_LT(relative_difference(layer->running_var, expected.running_var), 1e-6);

    at::Tensor moments = at::empty({2, 8}, at::kDouble);
    channel_moments_by_tensor_ops(x, at::zeros({8}, at::kDouble), moments);
    const double count = 16 * 16 * 16;
    const at::Tensor variance = moments[1] / count - (moments[0] / count).square();
    EXPECT_LT(relative_difference(variance, x.to(at::kDouble).var({0, 2, 3}, false)), 1e-5);
  }
}

TEST_F(SyncBatchNormTest, TensorOperationsEqualKernels) {
  for (const auto& c : all_cases()) {
    const double tolerance = c.type == at::kDouble ? 1e-12 : 1e-5;
    const std::int64_t channels = c.shape[1];
    const at::Tensor x = make_batch(c.shape, c.type, c.channels_last, 1);
    const at::Tensor dy = make_batch(c.shape, c.type, c.channels_last, 2);
    const at::Tensor weight = at::linspace(0.5, 1.5, channels, c.type).requires_grad_(true);
    const at::Tensor bias = at::linspace(-1, 2, channels, c.type).requires_grad_(true);
    const auto statistics = batch_statistics(x, at::zeros({channels}), comm_);
    const at::Tensor inverse_std = (statistics.variance + 1e-5).rsqrt();
    const at::Tensor input = x.clone().requires_grad_(true);
    const at::Tensor y = synchronised_batch_norm(input, weight, bias, statistics, 1e-5, comm_);
    y.backward(dy);

    at::Tensor moments = at::empty({2, channels}, at::kDouble);
    channel_moments_by_tensor_ops(x, at::zeros({channels}, at::kDouble), moments);
    EXPECT_LT(relative_difference(moments[0] / statistics.count, statistics.mean), tolerance);
    at::Tensor by_ops = at::empty_like(x);
    normalise_by_tensor_ops(x, weight.detach(), bias.detach(), statistics.mean, inverse_std,
                            by_ops);
    EXPECT_LT(relative_difference(by_ops, y), tolerance);
    at::Tensor sums = at::empty({2, channels}, at::kDouble);
    gradient_moments_by_tensor_ops(dy, x, statistics.mean, sums);
    sums[1].mul_(inverse_std);
    EXPECT_LT(relative_difference(sums[0], bias.grad()), tolerance);
    EXPECT_LT(relative_difference(sums[1], weight.grad()), tolerance);
    input_gradient_by_tensor_ops(dy, x, weight.detach(), statistics.mean, inverse_std, sums,
                                 statistics.count, by_ops);
    EXPECT_LT(relative_difference(by_ops, input.grad()), tolerance);
  }
}

TEST_F(SyncBatchNormTest, SumsDoNotDependOnThreads) {
  const int before = at::get_num_threads();
  for (const bool channels_last : {false, true}) {
    std::vector<at::Tensor> results;
    for (const int threads : {1, 3}) {
      at::set_num_threads(threads);
      auto layer = make_layer(16, at::kFloat);
      const at::Tensor x =
          make_batch({32, 16, 20, 20}, at::kFloat, channels_last, 1).requires_grad_(true);
      const at::Tensor y = layer->forward(x, kTraining);
      y.backward(make_batch({32, 16, 20, 20}, at::kFloat, channels_last, 2));
      results.insert(results.end(), {y.detach(), x.grad(), layer->weight.grad()});
    }
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(at::equal(results[i], results[i + 3])) << i;
  }
  at::set_num_threads(before);
}

TEST_F(SyncBatchNormTest, RecomputeLeavesTheStatisticsAlone) {
  auto layer = make_layer(3, at::kDouble);
  const at::Tensor x = make_batch({4, 3, 2, 2}, at::kDouble, false, 1);
  const at::Tensor first = layer->forward(x, kTraining);
  const at::Tensor mean = layer->running_mean.clone(), var = layer->running_var.clone();
  const at::Tensor again = layer->forward(x, StepContext{.phase = Phase::kRecompute});
  EXPECT_TRUE(at::equal(mean, layer->running_mean));
  EXPECT_TRUE(at::equal(var, layer->running_var));
  EXPECT_EQ(layer->num_batches_tracked.item<std::int64_t>(), 1);
  EXPECT_LT(relative_difference(again, first), 1e-14);
}

TEST_F(SyncBatchNormTest, EvaluationUsesRunningStatistics) {
  for (const auto type : {at::kFloat, at::kDouble}) {
    auto layer = make_layer(2, type);
    layer->running_mean.copy_(at::tensor({3.0, -1.0}));
    layer->running_var.copy_(at::tensor({4.0, 0.25}));
    const at::Tensor x = make_batch({2, 2, 3, 3}, type, true, 1);
    const at::Tensor y = layer->forward(x, StepContext{});
    for (std::int64_t c = 0; c < 2; ++c) {
      const at::Tensor expected = (x.select(1, c) - (c == 0 ? 3.0 : -1.0)) /
                                      std::sqrt((c == 0 ? 4.0 : 0.25) + 1e-5) *
                                      layer->weight[c].item<double>() +
                                  layer->bias[c].item<double>();
      EXPECT_LT(relative_difference(y.select(1, c), expected), 1e-6);
    }
    EXPECT_EQ(layer->num_batches_tracked.item<std::int64_t>(), 0);
  }
}

TEST_F(SyncBatchNormTest, EmptyBatchGivesEmptyTensorsAndZeroGradients) {
  for (const auto type : {at::kFloat, at::kDouble}) {
    for (const bool channels_last : {false, true}) {
      for (const auto phase : {Phase::kTrain, Phase::kEvaluate}) {
        auto layer = make_layer(3, type);
        const at::Tensor x = make_batch({0, 3, 4, 5}, type, channels_last, 1).requires_grad_(true);
        const at::Tensor y = layer->forward(x, StepContext{.phase = phase});
        EXPECT_EQ(y.sizes(), x.sizes());
        y.sum().backward();
        EXPECT_EQ(x.grad().sizes(), x.sizes());
        EXPECT_TRUE(at::equal(layer->weight.grad(), at::zeros_like(layer->weight)));
        EXPECT_TRUE(at::equal(layer->running_mean, at::zeros_like(layer->running_mean)));
      }
    }
  }
}

TEST_F(SyncBatchNormTest, OneValuePerChannelIsAnError) {
  auto layer = make_layer(3, at::kFloat);
  try {
    (void)layer->forward(at::ones({1, 3, 1, 1}), kTraining);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("one value per channel"), std::string::npos)
        << error.what();
  }
  EXPECT_NO_THROW((void)layer->forward(at::ones({1, 3, 1, 2}), kTraining));
}

TEST_F(SyncBatchNormTest, WrongShapesTypesAndSecondDerivativesAreErrors) {
  auto layer = make_layer(3, at::kFloat);
  EXPECT_THROW((void)layer->forward(at::ones({4, 2, 2, 2}), kTraining), Error);
  EXPECT_THROW((void)layer->forward(at::ones({4, 3, 2}), kTraining), Error);
  EXPECT_THROW((void)layer->forward(at::ones({4, 3, 2, 2}, at::kHalf), kTraining), Error);
  const at::Tensor x = make_batch({4, 3, 2, 2}, at::kFloat, false, 1).requires_grad_(true);
  const at::Tensor y = layer->forward(x, kTraining).square().sum();
  EXPECT_THROW(torch::autograd::grad({y}, {x}, {}, true, true), Error);
}

TEST_F(SyncBatchNormTest, CounterStaysAnInteger) {
  auto layer = make_layer(3, at::kFloat);
  layer->to(at::kDouble, false);
  EXPECT_EQ(layer->running_var.scalar_type(), at::kDouble);
  EXPECT_EQ(layer->num_batches_tracked.scalar_type(), at::kLong);
  layer->to(at::kCPU, at::kFloat, false);
  EXPECT_EQ(layer->weight.scalar_type(), at::kFloat);
  EXPECT_EQ(layer->num_batches_tracked.scalar_type(), at::kLong);
}

}  // namespace
}  // namespace lockstep::model
