#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include "lockstep/model/models.hpp"

namespace lockstep::model {
namespace {

using Shape = std::vector<std::int64_t>;

std::shared_ptr<Network> make(const ModelOptions& options) {
  static const auto kSerial = comm::make_serial_collectives();
  return make_model(options, *kSerial);
}

std::int64_t parameter_count(const Network& network) {
  std::int64_t count = 0;
  for (const auto& p : network.parameters()) count += p.numel();
  return count;
}

/// ImageNet's pictures and classes.
ModelOptions imagenet(const std::string& name) {
  return {.name = name, .classes = 1000, .height = 224, .width_pixels = 224};
}

TEST(ArchitecturesTest, ResNet18HasTorchvisionsNamesAndShapes) {
  const auto network = make({.name = "resnet18",
                             .classes = 1000,
                             .height = 224,
                             .width_pixels = 224,
                             .stem = "imagenet"});
  EXPECT_EQ(parameter_count(*network), 11689512);
  std::vector<std::string> names{"conv1.weight", "bn1.weight", "bn1.bias"};
  for (int layer = 1; layer <= 4; ++layer) {
    for (int block = 0; block < 2; ++block) {
      const std::string at = "layer" + std::to_string(layer) + "." + std::to_string(block) + ".";
      for (const char* part :
           {"conv1.weight", "bn1.weight", "bn1.bias", "conv2.weight", "bn2.weight", "bn2.bias"}) {
        names.push_back(at + part);
      }
      if (layer > 1 && block == 0) {
        for (const char* part :
             {"downsample.0.weight", "downsample.1.weight", "downsample.1.bias"}) {
          names.push_back(at + part);
        }
      }
    }
  }
  names.insert(names.end(), {"fc.weight", "fc.bias"});
  const auto parameters = network->named_parameters();
  EXPECT_EQ(parameters.keys(), names);
  EXPECT_EQ(parameters["conv1.weight"].sizes(), (Shape{64, 3, 7, 7}));
  EXPECT_EQ(parameters["layer4.0.downsample.0.weight"].sizes(), (Shape{512, 256, 1, 1}));
  EXPECT_EQ(parameters["fc.weight"].sizes(), (Shape{1000, 512}));
  EXPECT_EQ(network->named_buffers().size(), 60U);  // 20 BatchNorms
  EXPECT_TRUE(network->named_buffers().contains("layer2.0.downsample.1.num_batches_tracked"));

  const auto small = make({.name = "resnet18", .width = 8});
  EXPECT_EQ(small->named_parameters().keys(), names);
  EXPECT_EQ(small->named_parameters()["conv1.weight"].sizes(), (Shape{8, 3, 3, 3}));
  EXPECT_EQ(small->named_parameters()["fc.weight"].sizes(), (Shape{10, 64}));
}

TEST(ArchitecturesTest, ResNet34HasTorchvisionsShapes) {
  ModelOptions options = imagenet("resnet34");
  options.stem = "imagenet";
  const auto network = make(options);
  EXPECT_EQ(parameter_count(*network), 21797672);  // torchvision's count
  const auto parameters = network->named_parameters();
  EXPECT_EQ(parameters.size(), 110U);  // 36 convolutions and BatchNorms, fc
  EXPECT_EQ(network->named_buffers().size(), 108U);
  EXPECT_EQ(parameters["layer3.5.conv2.weight"].sizes(), (Shape{256, 256, 3, 3}));
  EXPECT_FALSE(parameters.contains("layer3.6.conv1.weight"));
  EXPECT_FALSE(parameters.contains("layer1.0.downsample.0.weight"));
}

TEST(ArchitecturesTest, ResNet50HasTorchvisionsShapes) {
  ModelOptions options = imagenet("resnet50");
  options.stem = "imagenet";
  const auto network = make(options);
  EXPECT_EQ(parameter_count(*network), 25557032);  // torchvision's count
  const auto parameters = network->named_parameters();
  EXPECT_EQ(parameters.size(), 161U);  // 53 convolutions and BatchNorms, fc
  EXPECT_EQ(network->named_buffers().size(), 159U);
  EXPECT_EQ(parameters["conv1.weight"].sizes(), (Shape{64, 3, 7, 7}));
  EXPECT_EQ(parameters["layer1.0.conv1.weight"].sizes(), (Shape{64, 64, 1, 1}));
  EXPECT_EQ(parameters["layer1.0.downsample.0.weight"].sizes(), (Shape{256, 64, 1, 1}));
  EXPECT_EQ(parameters["layer1.1.conv1.weight"].sizes(), (Shape{64, 256, 1, 1}));
  EXPECT_EQ(parameters["layer2.0.conv2.weight"].sizes(), (Shape{128, 128, 3, 3}));
  EXPECT_EQ(parameters["layer4.2.conv3.weight"].sizes(), (Shape{2048, 512, 1, 1}));
  EXPECT_EQ(parameters["layer4.2.bn3.bias"].sizes(), (Shape{2048}));
  EXPECT_EQ(parameters["fc.weight"].sizes(), (Shape{1000, 2048}));

  const auto small = make({.name = "resnet50", .width = 3})->named_parameters();
  EXPECT_EQ(small.keys(), parameters.keys());
  EXPECT_EQ(small["conv1.weight"].sizes(), (Shape{3, 3, 3, 3}));
  EXPECT_EQ(small["fc.weight"].sizes(), (Shape{10, 96}));
}

TEST(ArchitecturesTest, CifarResNetsHaveNoParametersInShortcuts) {
  std::vector<std::string> names{"conv1.weight", "bn1.weight", "bn1.bias"};
  for (int layer = 1; layer <= 3; ++layer) {
    for (int block = 0; block < 3; ++block) {
      const std::string at = "layer" + std::to_string(layer) + "." + std::to_string(block) + ".";
      for (const char* part :
           {"conv1.weight", "bn1.weight", "bn1.bias", "conv2.weight", "bn2.weight", "bn2.bias"}) {
        names.push_back(at + part);
      }
    }
  }
  names.insert(names.end(), {"fc.weight", "fc.bias"});
  const auto network = make({.name = "resnet20"});
  EXPECT_EQ(network->named_parameters().keys(), names);
  EXPECT_EQ(network->named_parameters()["layer3.0.conv1.weight"].sizes(), (Shape{64, 32, 3, 3}));

  // n blocks a stage; width w, 2w, 4w. A convolution of c channels has 9c^2 weights (half of that
  // where it doubles the channels), a BatchNorm 2c.
  const auto expected = [](std::int64_t n, std::int64_t w, std::int64_t classes) {
    std::int64_t count = 27 * w + 2 * w;
    for (const std::int64_t c : {w, 2 * w, 4 * w}) {
      count += 2 * n * (9 * c * c + 2 * c);
      if (c > w) count -= 9 * c * c / 2;
    }
    return count + 4 * w * classes + classes;
  };
  EXPECT_EQ(parameter_count(*network), expected(3, 16, 10));
  // Projections as shortcuts would add 2,752: 16 * 32 + 64 and 32 * 64 + 128.
  EXPECT_EQ(parameter_count(*network), 269722);
  EXPECT_EQ(parameter_count(*make({.name = "resnet56"})), 853018);
  EXPECT_EQ(parameter_count(*make({.name = "resnet56", .classes = 7, .width = 6})),
            expected(9, 6, 7));
}

TEST(ArchitecturesTest, WideResNetHasThePapersSize) {
  const auto network = make({.name = "wide_resnet28_10"});
  // 36.5 million in the paper. Stages of c = 160, 320, 640 channels, b before them: BatchNorms 2b
  // and 7 * 2c, convolutions 9bc and 7 * 9c^2, shortcut bc; conv1, the last BatchNorm and fc.
  std::int64_t expected = 27 * 16, before = 16;
  for (const std::int64_t c : {160, 320, 640}) {
    expected += 2 * before + 14 * c + 9 * before * c + 63 * c * c + before * c;
    before = c;
  }
  expected += 2 * 640 + 640 * 10 + 10;
  EXPECT_EQ(parameter_count(*network), expected);
  EXPECT_EQ(expected, 36479194);

  const auto parameters = network->named_parameters();
  EXPECT_EQ(parameters.size(), 1U + 12U * 6U + 3U + 4U);
  EXPECT_EQ(parameters["conv1.weight"].sizes(), (Shape{16, 3, 3, 3}));
  EXPECT_EQ(parameters["layer1.0.bn1.weight"].sizes(), (Shape{16}));
  EXPECT_EQ(parameters["layer1.0.shortcut.weight"].sizes(), (Shape{160, 16, 1, 1}));
  EXPECT_EQ(parameters["layer2.0.conv1.weight"].sizes(), (Shape{320, 160, 3, 3}));
  EXPECT_EQ(parameters["layer3.3.conv2.weight"].sizes(), (Shape{640, 640, 3, 3}));
  EXPECT_EQ(parameters["bn1.weight"].sizes(), (Shape{640}));
  EXPECT_FALSE(parameters.contains("layer3.1.shortcut.weight"));
  EXPECT_EQ(make({.name = "wide_resnet28_10", .width = 1})->named_parameters().keys(),
            parameters.keys());
}

TEST(ArchitecturesTest, VitTinyHasTorchvisionsNamesAndDeitsSize) {
  const auto network = make({.name = "vit_tiny"});
  std::vector<std::string> names{"class_token", "conv_proj.weight", "conv_proj.bias",
                                 "encoder.pos_embedding"};
  for (int block = 0; block < 12; ++block) {
    const std::string at = "encoder.layers.encoder_layer_" + std::to_string(block) + ".";
    for (const char* part : {"ln_1.weight", "ln_1.bias", "self_attention.in_proj_weight",
                             "self_attention.in_proj_bias", "self_attention.out_proj.weight",
                             "self_attention.out_proj.bias", "ln_2.weight", "ln_2.bias",
                             "mlp.0.weight", "mlp.0.bias", "mlp.3.weight", "mlp.3.bias"}) {
      names.push_back(at + part);
    }
  }
  names.insert(names.end(),
               {"encoder.ln.weight", "encoder.ln.bias", "heads.head.weight", "heads.head.bias"});
  const auto parameters = network->named_parameters();
  EXPECT_EQ(parameters.keys(), names);
  EXPECT_EQ(network->named_buffers().size(), 0U);
  EXPECT_EQ(parameters["conv_proj.weight"].sizes(), (Shape{192, 3, 4, 4}));
  EXPECT_EQ(parameters["encoder.pos_embedding"].sizes(), (Shape{1, 65, 192}));
  EXPECT_EQ(parameters[names[6]].sizes(), (Shape{576, 192}));
  // 444,864 in a block: 12 f^2 of weights, 13 f of biases and norms, f = 192.
  const std::int64_t blocks = 12 * (12 * 192 * 192 + 13 * 192);
  EXPECT_EQ(parameter_count(*network),
            blocks + (48 + 1) * 192 + (1 + 65) * 192 + 2 * 192 + 193 * 10);
  EXPECT_EQ(parameter_count(*make(imagenet("vit_tiny"))), 5717416);  // as published for DeiT-Ti
}

TEST(ArchitecturesTest, VitTinyChoosesItsPatchesByTheLongerSide) {
  const auto tokens = [](std::int64_t height, std::int64_t width) {
    return make({.name = "vit_tiny", .height = height, .width_pixels = width, .width = 3})
        ->named_parameters()["encoder.pos_embedding"]
        .size(1);
  };
  EXPECT_EQ(tokens(4, 4), 1 + 1);
  EXPECT_EQ(tokens(64, 64), 1 + 16 * 16);
  EXPECT_EQ(tokens(12, 64), 1 + 3 * 16);
  EXPECT_EQ(tokens(16, 80), 1 + 1 * 5);
  EXPECT_EQ(tokens(224, 224), 1 + 14 * 14);
}

}  // namespace
}  // namespace lockstep::model
