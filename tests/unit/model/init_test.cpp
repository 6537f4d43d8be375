#include "model/init.hpp"

#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <numbers>

#include "lockstep/base/seed.hpp"
#include "lockstep/model/models.hpp"

namespace lockstep::model {
namespace {

std::shared_ptr<Network> make(const std::string& name, const std::string& init,
                              std::uint64_t seed = 1, std::int64_t width = 0) {
  static const auto kSerial = comm::make_serial_collectives();
  ModelOptions options;
  options.name = name;
  options.init = init;
  options.seed = seed;
  options.width = width;
  return make_model(options, *kSerial);
}

at::Tensor parameter(const std::shared_ptr<Network>& network, const std::string& name) {
  return network->named_parameters()[name].detach().to(at::kDouble);
}

// Mean 0 and the standard deviation, each within five of its own standard errors.
void expect_normal(const at::Tensor& w, double deviation) {
  const auto n = static_cast<double>(w.numel());
  EXPECT_NEAR(w.mean().item<double>(), 0, 5 * deviation / std::sqrt(n));
  EXPECT_NEAR(w.std().item<double>(), deviation, 5 * deviation / std::sqrt(2 * n));
  // A normal variable is beyond two deviations in 4.55 % of the draws; a uniform one never.
  const double beyond = (w.abs() > 2 * deviation).to(at::kDouble).mean().item<double>();
  EXPECT_NEAR(beyond, 0.0455, 5 * std::sqrt(0.0455 / n));
}

void expect_uniform(const at::Tensor& w, double bound) {
  const auto n = static_cast<double>(w.numel());
  EXPECT_LE(w.abs().max().item<double>(), bound * (1 + 1e-6));
  EXPECT_GT(w.abs().max().item<double>(), bound * (1 - 20 / n));
  EXPECT_NEAR(w.mean().item<double>(), 0, 5 * bound / std::sqrt(3 * n));
  EXPECT_NEAR(w.std().item<double>(), bound / std::sqrt(3.0), 5 * bound / std::sqrt(n));
}

void expect_zero(const at::Tensor& w) { EXPECT_TRUE(at::equal(w, at::zeros_like(w))); }
void expect_one(const at::Tensor& w) { EXPECT_TRUE(at::equal(w, at::ones_like(w))); }

TEST(InitTest, CifarCnn) {
  const auto network = make("cifar_cnn", "model");
  expect_normal(parameter(network, "features.0.weight"), std::sqrt(2.0 / (32 * 9)));
  expect_normal(parameter(network, "features.10.weight"), std::sqrt(2.0 / (64 * 9)));
  expect_normal(parameter(network, "classifier.0.weight"), 0.01);
  expect_normal(parameter(network, "classifier.3.weight"), 0.01);
  expect_zero(parameter(network, "classifier.0.bias"));
  expect_zero(parameter(network, "features.1.bias"));
  expect_one(parameter(network, "features.1.weight"));
}

TEST(InitTest, ResNetHasTorchvisionsRanges) {
  const auto network = make("resnet18", "model");
  expect_normal(parameter(network, "layer3.0.conv1.weight"), std::sqrt(2.0 / (256 * 9)));
  expect_normal(parameter(network, "layer2.0.downsample.0.weight"), std::sqrt(2.0 / 128));
  expect_uniform(parameter(network, "fc.weight"), 1 / std::sqrt(512.0));
  EXPECT_GT(parameter(network, "fc.bias").abs().max().item<double>(), 0);
  EXPECT_LT(parameter(network, "fc.bias").abs().max().item<double>(), 1 / std::sqrt(512.0));
  expect_one(parameter(network, "layer4.1.bn2.weight"));
}

TEST(InitTest, SimpleCnnHasPyTorchsRanges) {
  const auto network = make("simple_cnn", "model");
  expect_uniform(parameter(network, "conv2.weight"), 1 / std::sqrt(32.0 * 9));
  expect_uniform(parameter(network, "fc1.weight"), 1 / std::sqrt(4096.0));
  EXPECT_GT(parameter(network, "conv1.bias").abs().max().item<double>(), 0);
}

TEST(InitTest, OtherResidualNetworksAsResNet18) {
  auto network = make("resnet50", "model", 1, 32);
  expect_normal(parameter(network, "layer2.1.conv3.weight"), std::sqrt(2.0 / 256));
  expect_one(parameter(network, "layer3.0.bn3.weight"));
  network = make("resnet20", "model");
  expect_normal(parameter(network, "layer2.0.conv1.weight"), std::sqrt(2.0 / (32 * 9)));
  expect_uniform(parameter(network, "fc.weight"), 1 / std::sqrt(64.0));
  network = make("wide_resnet28_10", "model", 1, 4);
  expect_normal(parameter(network, "layer3.0.shortcut.weight"), std::sqrt(2.0 / 160));
}

TEST(InitTest, VitTinyHasDeitsRanges) {
  auto network = make("vit_tiny", "model");
  const std::string block = "encoder.layers.encoder_layer_7.";
  const std::string in_proj = block + "self_attention.in_proj_weight";
  expect_uniform(parameter(network, "conv_proj.weight"), 1 / std::sqrt(48.0));
  expect_normal(parameter(network, "encoder.pos_embedding"), 0.02);
  for (const std::string& name :
       {in_proj, block + "self_attention.out_proj.weight", block + "mlp.0.weight",
        block + "mlp.3.weight", std::string("heads.head.weight")}) {
    expect_normal(parameter(network, name), 0.02);
  }
  EXPECT_GT(parameter(network, "class_token").abs().max().item<double>(), 0.02);
  EXPECT_LT(parameter(network, "class_token").abs().max().item<double>(), 0.1);
  for (const std::string& name :
       {std::string("conv_proj.bias"), block + "self_attention.in_proj_bias",
        block + "self_attention.out_proj.bias", block + "mlp.0.bias", block + "ln_1.bias"}) {
    expect_zero(parameter(network, name));
  }
  expect_one(parameter(network, block + "ln_2.weight"));

  network = make("vit_tiny", "xavier");
  expect_uniform(parameter(network, in_proj), std::sqrt(6.0 / (4 * 192)));
  expect_normal(parameter(network, "encoder.pos_embedding"), 0.02);
}

TEST(InitTest, OptionReplacesAllWeights) {
  for (const std::string name : {"simple_cnn", "cifar_cnn"}) {
    const bool simple = name == "simple_cnn";
    const std::string conv = simple ? "conv2" : "features.7";  // 32 -> 64
    const std::string linear = simple ? "fc1" : "classifier.0";
    const double out = simple ? 128 : 512;
    auto network = make(name, "kaiming_fan_in");
    expect_normal(parameter(network, conv + ".weight"), std::sqrt(2.0 / (32 * 9)));
    expect_normal(parameter(network, linear + ".weight"), std::sqrt(2.0 / 4096));
    expect_zero(parameter(network, linear + ".bias"));
    network = make(name, "kaiming_fan_out");
    expect_normal(parameter(network, conv + ".weight"), std::sqrt(2.0 / (64 * 9)));
    expect_normal(parameter(network, linear + ".weight"), std::sqrt(2.0 / out));
    network = make(name, "xavier");
    expect_uniform(parameter(network, conv + ".weight"), std::sqrt(6.0 / (96 * 9)));
    expect_uniform(parameter(network, linear + ".weight"), std::sqrt(6.0 / (4096 + out)));
  }
}

TEST(InitTest, ElementsEqualTheirDefinition) {
  // FNV-1a's published test vectors.
  EXPECT_EQ(name_hash(""), 0xCBF29CE484222325U);
  EXPECT_EQ(name_hash("foobar"), 0x85944171F73967E8U);

  const at::Tensor w = parameter(make("cifar_cnn", "model", 42), "features.0.weight").view({-1});
  const std::uint64_t key = derive_key(42, Stream::kInit, name_hash("features.0.weight"));
  const double deviation = std::sqrt(2.0 / (32 * 9));
  for (const std::int64_t element : {0, 1, 2, 3, 500, 863}) {
    const auto words = random_words(key, 0, static_cast<std::uint64_t>(element / 4));
    const auto pair = static_cast<std::size_t>(element % 4 / 2 * 2);
    const double u = (words[pair] + 0.5) / 4294967296.0;
    const double angle = 2 * std::numbers::pi * words[pair + 1] / 4294967296.0;
    const double z =
        std::sqrt(-2 * std::log(u)) * (element % 2 == 0 ? std::cos(angle) : std::sin(angle));
    EXPECT_NEAR(w[element].item<double>(), deviation * z, 1e-7) << element;
  }
}

TEST(InitTest, SameForSameSeedDifferentElse) {
  for (const std::string& name : choice_names(model_list())) {
    const auto first = make(name, "model", 1, 3)->named_parameters();
    torch::manual_seed(77);  // no global generator takes part
    const auto second = make(name, "model", 1, 3)->named_parameters();
    const auto other = make(name, "model", 2, 3)->named_parameters();
    for (const auto& item : first) {
      EXPECT_TRUE(at::equal(item.value(), second[item.key()])) << item.key();
      if (item.value().dim() > 1) {
        EXPECT_FALSE(at::equal(item.value(), other[item.key()])) << item.key();
      }
    }
  }
  const auto network = make("resnet18", "model", 1, 8);
  EXPECT_FALSE(at::equal(parameter(network, "layer1.0.conv1.weight"),
                         parameter(network, "layer1.0.conv2.weight")))
      << "layers of one shape must differ";
}

}  // namespace
}  // namespace lockstep::model
