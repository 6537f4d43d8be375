#include "lockstep/model/models.hpp"

#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <algorithm>

#include "lockstep/base/check.hpp"
#include "lockstep/model/layers.hpp"

namespace lockstep::model {
namespace {

const std::unique_ptr<comm::Collectives> kSerial = comm::make_serial_collectives();

std::shared_ptr<Network> make(const ModelOptions& options) { return make_model(options, *kSerial); }

std::int64_t parameter_count(const Network& network) {
  std::int64_t count = 0;
  for (const auto& p : network.parameters()) count += p.numel();
  return count;
}

std::string message_of(const ModelOptions& options) {
  try {
    (void)make(options);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ModelsTest, TableListsTheModels) {
  std::vector<std::string> names;
  for (const auto& entry : model_list()) names.push_back(entry.name);
  EXPECT_EQ(names, (std::vector<std::string>{"simple_cnn", "cifar_cnn", "resnet18"}));
}

// Each option that not every model has is refused by those that do not list it.
TEST(ModelsTest, TableListsTheOptionsOfEachModel) {
  const auto with = [](const std::string& name, const std::string& key) {
    ModelOptions options{.name = name, .width = 4};
    if (key == "model.dropout") options.dropout = 0.5;
    if (key == "model.bn_momentum") options.bn_momentum = 0.5;
    if (key == "model.stem") options.stem = "imagenet";
    return message_of(options);
  };
  for (const auto& entry : model_list()) {
    EXPECT_FALSE(entry.summary.empty());
    for (const std::string key : {"model.dropout", "model.bn_momentum", "model.stem"}) {
      const bool listed =
          std::find(entry.options.begin(), entry.options.end(), key) != entry.options.end();
      EXPECT_EQ(with(entry.name, key) == "no error", listed) << entry.name << " " << key;
    }
  }
}

TEST(ModelsTest, SimpleCnnParameters) {
  EXPECT_EQ(make({.name = "simple_cnn"})->named_parameters().keys(),
            (std::vector<std::string>{"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias",
                                      "fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"}));
  // 3x3 kernels; width w: 3 -> w -> 2w channels, 4w hidden features, h x w pixels quartered.
  const auto expected = [](std::int64_t w, std::int64_t pixels, std::int64_t classes) {
    return (27 * w + w) + (9 * w * 2 * w + 2 * w) + (2 * w * pixels * 4 * w + 4 * w) +
           (4 * w * classes + classes);
  };
  EXPECT_EQ(parameter_count(*make({.name = "simple_cnn"})), expected(32, 64, 10));
  EXPECT_EQ(
      parameter_count(*make(
          {.name = "simple_cnn", .classes = 7, .height = 19, .width_pixels = 24, .width = 6})),
      expected(6, 4 * 6, 7));
}

TEST(ModelsTest, CifarCnnParameters) {
  const auto expected = [](std::int64_t w, std::int64_t pixels, std::int64_t classes) {
    const std::int64_t convolutions = 27 * w + 9 * w * w + 18 * w * w + 36 * w * w;
    const std::int64_t norms = 2 * (w + w + 2 * w + 2 * w);
    return convolutions + norms + (2 * w * pixels * 16 * w + 16 * w) + (16 * w * classes + classes);
  };
  EXPECT_EQ(parameter_count(*make({.name = "cifar_cnn"})), expected(32, 64, 10));
  EXPECT_EQ(parameter_count(*make({.name = "cifar_cnn"})), 2168554);
  EXPECT_EQ(parameter_count(*make(
                {.name = "cifar_cnn", .classes = 3, .height = 12, .width_pixels = 21, .width = 8})),
            expected(8, 3 * 5, 3));
}

TEST(ModelsTest, ResNet18HasTorchvisionsNamesAndShapes) {
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
  EXPECT_EQ(parameters["conv1.weight"].sizes(), (std::vector<std::int64_t>{64, 3, 7, 7}));
  EXPECT_EQ(parameters["layer4.0.downsample.0.weight"].sizes(),
            (std::vector<std::int64_t>{512, 256, 1, 1}));
  EXPECT_EQ(parameters["fc.weight"].sizes(), (std::vector<std::int64_t>{1000, 512}));
  EXPECT_EQ(network->named_buffers().size(), 60U);  // 20 BatchNorms
  EXPECT_TRUE(network->named_buffers().contains("layer2.0.downsample.1.num_batches_tracked"));

  const auto small = make({.name = "resnet18", .width = 8});
  EXPECT_EQ(small->named_parameters().keys(), names);
  EXPECT_EQ(small->named_parameters()["conv1.weight"].sizes(),
            (std::vector<std::int64_t>{8, 3, 3, 3}));
  EXPECT_EQ(small->named_parameters()["fc.weight"].sizes(), (std::vector<std::int64_t>{10, 64}));
}

// Every model, both layouts and number formats, empty batches, both phases, odd picture sizes.
TEST(ModelsTest, ForwardAndBackwardForAllLayouts) {
  const std::vector<std::int64_t> ids{3, 1, 4};
  for (const std::string name : {"simple_cnn", "cifar_cnn", "resnet18", "resnet18-imagenet"}) {
    ModelOptions options{.name = name, .classes = 5, .height = 33, .width_pixels = 38, .width = 4};
    if (name == "resnet18-imagenet") options.name = "resnet18", options.stem = "imagenet";
    if (options.name != "resnet18") options.dropout = 0.25;
    for (const auto type : {at::kFloat, at::kDouble}) {
      at::Tensor logits[2];
      for (const bool channels_last : {false, true}) {
        const auto network = make(options);
        network->to(type);
        const auto format =
            channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
        for (auto& p : network->parameters()) {
          if (p.dim() == 4) p.set_data(p.detach().contiguous(format));
        }
        for (const std::int64_t n : {3, 0}) {
          const at::Tensor x = at::linspace(-1, 1, n * 3 * 33 * 38, type)
                                   .view({n, 3, 33, 38})
                                   .sin()
                                   .contiguous(format);
          const StepContext train{Phase::kTrain, 1, 0, ids.data()};
          const at::Tensor y = network->forward(x, train);
          EXPECT_EQ(y.sizes(), (std::vector<std::int64_t>{n, 5})) << name;
          y.square().sum().backward();
          for (const auto& item : network->named_parameters()) {
            ASSERT_TRUE(item.value().grad().defined()) << item.key();
            EXPECT_TRUE(item.value().grad().isfinite().all().item<bool>()) << item.key();
            if (n == 3) {
              EXPECT_GT(item.value().grad().abs().max().item<double>(), 0) << name << item.key();
            }
          }
          if (n == 3) logits[channels_last ? 1 : 0] = y.detach();
          const at::NoGradGuard no_grad;
          EXPECT_EQ(network->forward(x, StepContext{}).size(0), n);
        }
      }
      EXPECT_TRUE(at::allclose(logits[0], logits[1], 0, type == at::kDouble ? 1e-12 : 2e-4))
          << name << (logits[0] - logits[1]).abs().max();
    }
  }
}

TEST(ModelsTest, BadOptionsAreNamed) {
  EXPECT_NE(message_of({.name = "resnet81"}).find("did you mean \"resnet18\""), std::string::npos);
  EXPECT_NE(message_of({.name = "transformer"}).find("simple_cnn cifar_cnn resnet18"),
            std::string::npos);
  EXPECT_NE(message_of({.init = "xaver"}).find("did you mean \"xavier\""), std::string::npos);
  EXPECT_NE(message_of({.name = "resnet18", .stem = "imagnet"}).find("imagenet"),
            std::string::npos);
  EXPECT_NE(message_of({.name = "resnet18", .dropout = 0.5}).find("model.dropout"),
            std::string::npos);
  EXPECT_NE(message_of({.stem = "imagenet"}).find("model.stem"), std::string::npos);
  EXPECT_NE(message_of({.name = "simple_cnn", .bn_momentum = 0.2}).find("model.bn_momentum"),
            std::string::npos);
  EXPECT_NE(message_of({.height = 3}).find("3 x 32 pixels are too small"), std::string::npos);
  EXPECT_NE(message_of({.name = "resnet18", .height = 31, .stem = "imagenet"}).find("too small"),
            std::string::npos);
  EXPECT_NE(message_of({.classes = 0}).find("classes=0"), std::string::npos);
  EXPECT_EQ(message_of({.height = 4, .width_pixels = 4}), "no error");
}

TEST(ModelsTest, UnusedParameterGetsNoGradient) {
  const auto network = make({.name = "simple_cnn", .width = 2, .unused_parameter = true});
  ASSERT_TRUE(network->named_parameters().contains("unused"));
  EXPECT_EQ(network->named_parameters()["unused"].numel(), 3);
  network->forward(at::ones({1, 3, 32, 32}), {.phase = Phase::kTrain}).sum().backward();
  EXPECT_FALSE(network->named_parameters()["unused"].grad().defined());
}

TEST(ModelsTest, FreezeByPrefix) {
  const auto network = make({.name = "resnet18", .width = 4});
  // conv1, and in layer1 two blocks of two convolutions and two norms.
  EXPECT_EQ(freeze(*network, "conv1, layer1."), 1 + 2 * 6);
  for (const auto& item : network->named_parameters()) {
    const bool frozen = item.key() == "conv1.weight" || item.key().starts_with("layer1.");
    EXPECT_EQ(item.value().requires_grad(), !frozen) << item.key();
  }
  EXPECT_EQ(freeze(*network, ""), 0);
  EXPECT_EQ(freeze(*network, "conv1"), 0) << "frozen already";
  try {
    freeze(*network, "layer5");
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean \"layer"), std::string::npos)
        << error.what();
  }
  EXPECT_THROW(freeze(*network, "conv1,bn1,layer,fc"), UsageError);
}

TEST(ModelsTest, SummaryCountsParametersAndMemory) {
  const auto network = make({.name = "resnet18",
                             .classes = 1000,
                             .height = 224,
                             .width_pixels = 224,
                             .stem = "imagenet"});
  freeze(*network, "fc");
  const std::string text = model_summary(*network, 2);
  EXPECT_NE(text.find("parameters 11689512, trainable 11176512, buffer elements 9620"),
            std::string::npos)
      << text;
  // 11,176,512 gradients of 4 bytes, and twice that of state.
  EXPECT_NE(text.find("gradients 42.64 MiB, optimizer state 85.27 MiB"), std::string::npos) << text;
}

}  // namespace
}  // namespace lockstep::model
