// Factors of the learning rate by beginnings of names: PyTorch's parameter groups with their own
// lr.
#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>
#include <torch/types.h>

#include "lockstep/base/check.hpp"
#include "lockstep/optim/optimizer.hpp"
#include "small_parameters.hpp"

namespace lockstep::optim {
namespace {

constexpr int kSteps = 20;

/// conv.weight has 1, fc.weight 0.1, fc.bias 3.
const std::vector<LrScale> kScales{{"fc", 0.1}, {"fc.bias", 3}};
const std::vector<double> kScaleOfEach{1, 0.1, 3};

OptimizerOptions scaled(const std::string& name, bool decay_all) {
  OptimizerOptions options;
  options.name = name;
  options.weight_decay = 0.05;
  options.eps = 1e-6;
  options.decay_norm_and_bias = decay_all;
  options.lr_scales = kScales;
  return options;
}

template <typename TorchOptimizer, typename TorchOptions>
void expect_equal_to_groups(const std::string& name, TorchOptions torch_options, double peak) {
  for (const bool decay_all : {false, true}) {
    SCOPED_TRACE(name);
    const auto ours = make_parameters(at::kDouble);
    const auto theirs = make_parameters(at::kDouble);
    const auto optimizer = make_optimizer(scaled(name, decay_all), ours);
    std::vector<torch::optim::OptimizerParamGroup> groups;
    for (const auto& [parameter, tensor] : theirs) {
      TorchOptions own = torch_options;
      own.weight_decay(decay_all || tensor.dim() > 1 ? 0.05 : 0);
      groups.emplace_back(std::vector<at::Tensor>{tensor}, std::make_unique<TorchOptions>(own));
    }
    TorchOptimizer reference(groups, torch_options);
    for (int step = 0; step < kSteps; ++step) {
      const double lr = peak / (1 + step);
      set_gradients(ours, step);
      set_gradients(theirs, step);
      optimizer->step(lr);
      for (std::size_t i = 0; i < kScaleOfEach.size(); ++i) {
        static_cast<TorchOptions&>(reference.param_groups()[i].options()).lr(lr * kScaleOfEach[i]);
      }
      reference.step();
    }
    for (std::size_t i = 0; i < ours.size(); ++i) {
      EXPECT_LE((ours[i].second - theirs[i].second).abs().max().template item<double>(), 1e-13)
          << ours[i].first;
    }
    // Without the factors they end elsewhere.
    OptimizerOptions plain = scaled(name, decay_all);
    plain.lr_scales.clear();
    const auto others = make_parameters(at::kDouble);
    const auto unscaled = make_optimizer(plain, others);
    for (int step = 0; step < kSteps; ++step) {
      set_gradients(others, step);
      unscaled->step(peak / (1 + step));
    }
    EXPECT_TRUE(at::allclose(others[0].second, ours[0].second, 0, 1e-13));
    EXPECT_FALSE(at::allclose(others[1].second, ours[1].second, 0, 1e-3));
    EXPECT_FALSE(at::allclose(others[2].second, ours[2].second, 0, 1e-3));
  }
}

TEST(LrScales, SgdEqualsPyTorchsGroups) {
  expect_equal_to_groups<torch::optim::SGD>("sgd", torch::optim::SGDOptions(0.1).momentum(0.9),
                                            0.1);
}

TEST(LrScales, AdamWEqualsPyTorchsGroups) {
  expect_equal_to_groups<torch::optim::AdamW>("adamw", torch::optim::AdamWOptions(0.1).eps(1e-6),
                                              0.1);
}

TEST(LrScales, AdamEqualsPyTorchsGroups) {
  expect_equal_to_groups<torch::optim::Adam>("adam", torch::optim::AdamOptions(0.1).eps(1e-6), 0.1);
}

TEST(LrScales, RmsPropEqualsPyTorchsGroups) {
  expect_equal_to_groups<torch::optim::RMSprop>(
      "rmsprop", torch::optim::RMSpropOptions(0.1).alpha(0.99).eps(1e-6).momentum(0.9), 0.01);
}

TEST(LrScales, AFactorOfZeroLeavesAParameterAsItIs) {
  for (const std::string name : {"sgd", "adamw", "adam", "rmsprop"}) {
    OptimizerOptions options = scaled(name, true);
    options.lr_scales = {{"conv", 0}};
    const auto parameters = make_parameters(at::kDouble);
    const auto start = make_parameters(at::kDouble);
    set_gradients(parameters, 0);
    make_optimizer(options, parameters)->step(0.1);
    EXPECT_TRUE(at::equal(parameters[0].second, start[0].second)) << name;
    EXPECT_FALSE(at::equal(parameters[1].second, start[1].second)) << name;
  }
}

// The saved state names parameters, not groups: it goes on under other factors.
TEST(LrScales, StateDoesNotDependOnThem) {
  const auto parameters = make_parameters(at::kDouble);
  const auto optimizer = make_optimizer(scaled("adamw", false), parameters);
  set_gradients(parameters, 0);
  optimizer->step(0.1);
  OptimizerOptions options = scaled("adamw", false);
  options.lr_scales = {{"conv", 2}};
  const auto others = make_parameters(at::kDouble);
  const auto other = make_optimizer(options, others);
  other->load(optimizer->state(), optimizer->steps());
  EXPECT_EQ(other->steps(), 1);
  const auto state_of = [](const Optimizer& from, const std::string& name) {
    for (const auto& [key, tensor] : from.state()) {
      if (key == name) return tensor;
    }
    return at::Tensor();
  };
  for (const char* name : {"exp_avg.conv.weight", "exp_avg_sq.fc.bias"}) {
    EXPECT_TRUE(at::equal(state_of(*other, name), state_of(*optimizer, name))) << name;
  }
}

TEST(LrScales, AreReadFromText) {
  EXPECT_TRUE(parse_lr_scales("").empty());
  const auto scales = parse_lr_scales("conv1=0.1,layer1.0 = 1e-3 ,  fc=0,\tbn=10");
  ASSERT_EQ(scales.size(), 4U);
  EXPECT_EQ(scales[0].prefix, "conv1");
  EXPECT_EQ(scales[0].scale, 0.1);
  EXPECT_EQ(scales[1].prefix, "layer1.0");
  EXPECT_EQ(scales[1].scale, 1e-3);
  EXPECT_EQ(scales[2].scale, 0);
  EXPECT_EQ(scales[3].prefix, "bn");
}

template <typename Call>
void expect_refused(Call call, const std::string& part) {
  try {
    call();
    FAIL() << "no error, expected " << part;
  } catch (const UsageError& error) {
    const std::string said = error.what();
    EXPECT_NE(said.find(part), std::string::npos) << said;
    EXPECT_NE(said.find("optim.lr_scale"), std::string::npos) << said;
  }
}

TEST(LrScales, OtherTextIsRefused) {
  for (const auto& [text, part] :
       std::vector<std::pair<std::string, std::string>>{{"fc", "cannot read \"fc\""},
                                                        {"=1", "cannot read \"=1\""},
                                                        {"fc=1, conv", "cannot read \"conv\""},
                                                        {" , ", "names nothing"},
                                                        {"fc=", "of fc: '' is not a number"},
                                                        {"fc=ten", "'ten' is not a number"},
                                                        {"fc=1x", "'1x' is not a number"},
                                                        {"fc=nan", "'nan' is not a number"},
                                                        {"fc=-0.1", "-0.1 is out of range"},
                                                        {"fc=1e7", "1e7 is out of range"},
                                                        {"fc=1,fc=2", "has fc twice"}}) {
    expect_refused([&text = text] { (void)parse_lr_scales(text); }, part);
  }
}

TEST(LrScales, APrefixThatCountsForNoParameterIsRefused) {
  const auto make = [](const std::vector<LrScale>& scales) {
    OptimizerOptions options;
    options.lr_scales = scales;
    (void)make_optimizer(options, make_parameters(at::kFloat));
  };
  expect_refused([&] { make({{"fcc", 2}}); }, "did you mean \"fc\"?");
  expect_refused([&] { make({{"conv.wieght", 2}}); }, "did you mean \"conv.weight\"?");
  expect_refused([&] { make({{"classifier.7", 2}}); }, "names begin with conv.");
  expect_refused(
      [&] {
        make({{"fc", 2}, {"fc.weight", 1}, {"fc.bias", 3}});
      },
      "of fc has no effect");
}

TEST(LrScales, TheLogSaysHowManyHaveThem) {
  EXPECT_EQ(lr_scales_text(scaled("sgd", false), make_parameters(at::kFloat)),
            "0.1 for fc (1), 3 for fc.bias (1)");
}

}  // namespace
}  // namespace lockstep::optim
