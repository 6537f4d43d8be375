#include "lockstep/optim/optimizer.hpp"

#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>
#include <torch/types.h>

#include <cmath>

#include "lockstep/base/check.hpp"

namespace lockstep::optim {
namespace {

constexpr int kSteps = 20;

// Parameters of 4 (channels_last), 2 and 1 dimensions; the sizes are not multiples of a vector.
std::vector<NamedParameter> make_parameters(at::ScalarType type) {
  const auto values = [&](const std::vector<std::int64_t>& shape, double phase) {
    std::int64_t count = 1;
    for (const auto s : shape) count *= s;
    return (at::arange(count, at::kDouble) + phase).sin().view(shape).to(type);
  };
  return {
      {"conv.weight",
       values({5, 3, 3, 3}, 0.1).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_(true)},
      {"fc.weight", values({7, 11}, 0.2).requires_grad_(true)},
      {"fc.bias", values({7}, 0.3).requires_grad_(true)}};
}

// The gradient of update `step`: depends on the parameter, as a real one does.
void set_gradients(const std::vector<NamedParameter>& parameters, int step) {
  for (const auto& [name, p] : parameters) {
    p.mutable_grad() = (p.detach() * 3 + step).cos().mul_(0.5);
  }
}

template <typename TorchOptimizer, typename TorchOptions>
void expect_equal_to_torch(const OptimizerOptions& options, TorchOptions torch_options,
                           at::ScalarType type, double tolerance) {
  const auto ours = make_parameters(type);
  const auto theirs = make_parameters(type);
  const auto optimizer = make_optimizer(options, ours);
  // Decay on all parameters, or on all but the last, which has one dimension.
  TorchOptions plain = torch_options;
  if (!options.decay_norm_and_bias) plain.weight_decay(0);
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<at::Tensor>{theirs[0].second, theirs[1].second},
                      std::make_unique<TorchOptions>(torch_options));
  groups.emplace_back(std::vector<at::Tensor>{theirs[2].second},
                      std::make_unique<TorchOptions>(plain));
  TorchOptimizer reference(groups, torch_options);
  for (int step = 0; step < kSteps; ++step) {
    const double lr = 0.1 / (1 + step);
    set_gradients(ours, step);
    set_gradients(theirs, step);
    optimizer->step(lr);
    for (auto& group : reference.param_groups()) {
      static_cast<TorchOptions&>(group.options()).lr(lr);
    }
    reference.step();
  }
  const auto start = make_parameters(type);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double difference =
        (ours[i].second - theirs[i].second).abs().max().template item<double>();
    EXPECT_LE(difference, tolerance) << ours[i].first;
    EXPECT_FALSE(at::allclose(ours[i].second, start[i].second, 0, 1e-2)) << "nothing was learned";
  }
  EXPECT_EQ(optimizer->steps(), kSteps);
}

TEST(OptimizerTest, SgdEqualsPyTorch) {
  for (const auto type : {at::kDouble, at::kFloat}) {
    for (const double momentum : {0.0, 0.9}) {
      for (const bool nesterov : {false, true}) {
        if (nesterov && momentum == 0) continue;
        for (const bool decay_all : {false, true}) {
          OptimizerOptions options;
          options.momentum = momentum;
          options.nesterov = nesterov;
          options.weight_decay = 0.05;
          options.decay_norm_and_bias = decay_all;
          expect_equal_to_torch<torch::optim::SGD>(
              options,
              torch::optim::SGDOptions(0.1).momentum(momentum).nesterov(nesterov).weight_decay(
                  0.05),
              type, type == at::kDouble ? 1e-14 : 2e-6);
        }
      }
    }
  }
}

TEST(OptimizerTest, AdamWEqualsPyTorch) {
  for (const auto type : {at::kDouble, at::kFloat}) {
    for (const bool decay_all : {false, true}) {
      OptimizerOptions options;
      options.name = "adamw";
      options.beta1 = 0.8;
      options.beta2 = 0.95;
      options.eps = 1e-6;
      options.weight_decay = 0.05;
      options.decay_norm_and_bias = decay_all;
      expect_equal_to_torch<torch::optim::AdamW>(
          options, torch::optim::AdamWOptions(0.1).betas({0.8, 0.95}).eps(1e-6).weight_decay(0.05),
          type, type == at::kDouble ? 1e-14 : 2e-6);
    }
  }
}

std::vector<NamedParameter> one(double value) {
  return {{"w", at::full({1, 1}, value, at::kDouble).requires_grad_(true)}};
}

// Constant gradient g: after n updates the momentum is g (1 - m^n) / (1 - m), the weight has moved
// by lr times the sum of these.
TEST(OptimizerTest, SgdClosedForm) {
  const double m = 0.9, g = 0.5, lr = 0.1;
  OptimizerOptions options;
  options.momentum = m;
  const auto parameters = one(2.0);
  const auto optimizer = make_optimizer(options, parameters);
  parameters[0].second.mutable_grad() = at::full({1, 1}, g, at::kDouble);
  for (int n = 1; n <= 30; ++n) {
    optimizer->step(lr);
    const double moved = lr * g / (1 - m) * (n - m * (1 - std::pow(m, n)) / (1 - m));
    EXPECT_NEAR(parameters[0].second.item<double>(), 2.0 - moved, 1e-13) << n;
  }
}

// Constant gradient: both moments, bias corrected, equal g and g^2; each update moves by lr.
TEST(OptimizerTest, AdamWClosedForm) {
  OptimizerOptions options;
  options.name = "adamw";
  options.weight_decay = 0.1;
  const auto parameters = one(2.0);
  const auto optimizer = make_optimizer(options, parameters);
  parameters[0].second.mutable_grad() = at::full({1, 1}, -0.5, at::kDouble);
  double expected = 2.0;
  for (int n = 1; n <= 30; ++n) {
    optimizer->step(0.01);
    expected = expected * (1 - 0.01 * 0.1) + 0.01 * 0.5 / (0.5 + 1e-8);
    EXPECT_NEAR(parameters[0].second.item<double>(), expected, 1e-12) << n;
  }
}

TEST(OptimizerTest, DecayAlone) {
  OptimizerOptions options;
  options.momentum = 0;
  options.weight_decay = 0.5;
  const auto parameters = make_parameters(at::kDouble);
  const auto start = make_parameters(at::kDouble);
  for (const auto& [name, p] : parameters) p.mutable_grad() = at::zeros_like(p);
  make_optimizer(options, parameters)->step(0.1);
  EXPECT_TRUE(at::allclose(parameters[1].second, start[1].second * 0.95, 0, 1e-15));
  EXPECT_TRUE(at::equal(parameters[2].second, start[2].second)) << "a bias does not decay";
}

TEST(OptimizerTest, GradientsOfOtherStrides) {
  OptimizerOptions options;
  const auto parameters = make_parameters(at::kDouble);
  const at::Tensor start = parameters[0].second.detach().clone();
  for (const auto& [name, p] : parameters) p.mutable_grad() = at::zeros_like(p);
  const at::Tensor g = at::arange(135, at::kDouble).view({5, 3, 3, 3});
  parameters[0].second.mutable_grad() = g;  // contiguous, the parameter is channels_last
  make_optimizer(options, parameters)->step(0.1);
  EXPECT_TRUE(at::allclose(parameters[0].second, start - 0.1 * g, 0, 1e-13));
}

TEST(OptimizerTest, StateIsNamed) {
  const auto names = [](const Optimizer& optimizer) {
    std::vector<std::string> all;
    for (const auto& [name, tensor] : optimizer.state()) all.push_back(name);
    return all;
  };
  OptimizerOptions options;
  auto parameters = make_parameters(at::kFloat);
  auto optimizer = make_optimizer(options, parameters);
  EXPECT_EQ(
      names(*optimizer),
      (std::vector<std::string>{"momentum.conv.weight", "momentum.fc.weight", "momentum.fc.bias"}));
  EXPECT_EQ(optimizer->state_tensors(), 1);
  set_gradients(parameters, 1);
  const at::Tensor g = parameters[1].second.grad().clone();
  optimizer->step(0.1);
  EXPECT_TRUE(at::allclose(optimizer->state()[1].second, g)) << "the first momentum";
  EXPECT_EQ(optimizer->state()[0].second.strides(), parameters[0].second.strides());

  options.momentum = 0;
  EXPECT_EQ(make_optimizer(options, parameters)->state_tensors(), 0);
  EXPECT_TRUE(make_optimizer(options, parameters)->state().empty());
  options.name = "adamw";
  optimizer = make_optimizer(options, parameters);
  EXPECT_EQ(optimizer->state_tensors(), 2);
  EXPECT_EQ(names(*optimizer),
            (std::vector<std::string>{"exp_avg.conv.weight", "exp_avg.fc.weight",
                                      "exp_avg_sq.conv.weight", "exp_avg_sq.fc.weight",
                                      "exp_avg.fc.bias", "exp_avg_sq.fc.bias"}));
}

TEST(OptimizerTest, MissingGradientIsNamed) {
  for (const std::string name : {"sgd", "adamw"}) {
    OptimizerOptions options;
    options.name = name;
    const auto parameters = make_parameters(at::kFloat);
    set_gradients(parameters, 0);
    parameters[1].second.mutable_grad().reset();
    try {
      make_optimizer(options, parameters)->step(0.1);
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("fc.weight"), std::string::npos) << error.what();
    }
  }
}

void expect_refused(const OptimizerOptions& options, const std::string& part) {
  try {
    (void)make_optimizer(options, make_parameters(at::kFloat));
    FAIL() << "no error, expected " << part;
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(OptimizerTest, ImpossibleOptionsAreNamed) {
  OptimizerOptions options;
  options.name = "adam";
  expect_refused(options, "did you mean \"adamw\"");
  options.name = "sgd";
  options.momentum = 1;
  expect_refused(options, "optim.momentum");
  options.momentum = 0;
  options.nesterov = true;
  expect_refused(options, "optim.nesterov needs momentum");
  options = {};
  options.weight_decay = -1;
  expect_refused(options, "optim.weight_decay");
  options = {};
  options.name = "adamw";
  options.beta2 = 1;
  expect_refused(options, "optim.beta2");
  options.beta2 = 0.9;
  options.eps = 0;
  expect_refused(options, "optim.eps");
}

}  // namespace
}  // namespace lockstep::optim
