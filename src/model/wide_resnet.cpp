#include <ATen/ops/relu.h>

#include <string>
#include <vector>

#include "architectures.hpp"
#include "residual_layers.hpp"

namespace lockstep::model {
namespace {

constexpr int kStages = 3;
constexpr int kBlocksPerStage = 4;  // (28 - 4) / 6
constexpr std::int64_t kFactor = 10;

// Wide block (Zagoruyko, Komodakis 2016): normalisation and activation before each convolution,
// dropout before the second. Where the shape changes, the shortcut is a projection of the activated
// input, as in the authors' code.
class WideBlock : public torch::nn::Module {
 public:
  struct Shape {
    std::int64_t in, out, stride;
  };

  WideBlock(const Shape& shape, double dropout, std::int64_t dropout_layer, const NormMaker& norm)
      : torch::nn::Module("WideBlock") {
    bn1_ = register_module("bn1", norm(shape.in));
    conv1_ = register_module("conv1", conv3x3(shape.in, shape.out, shape.stride));
    bn2_ = register_module("bn2", norm(shape.out));
    dropout_ = register_module("dropout", std::make_shared<Dropout>(dropout, dropout_layer));
    conv2_ = register_module("conv2", conv3x3(shape.out, shape.out));
    if (shape.stride != 1 || shape.in != shape.out) {
      shortcut_ = register_module("shortcut", conv1x1(shape.in, shape.out, shape.stride));
    }
  }

  at::Tensor forward(const at::Tensor& x, const StepContext& context) {
    const at::Tensor active = at::relu(bn1_->forward(x, context));
    at::Tensor y = at::relu(bn2_->forward(conv1_->forward(active), context));
    y = conv2_->forward(dropout_->forward(y, context));
    return y + (shortcut_ ? shortcut_->forward(active) : x);
  }

 private:
  std::shared_ptr<SyncBatchNorm> bn1_, bn2_;
  std::shared_ptr<Conv2d> conv1_, conv2_, shortcut_;
  std::shared_ptr<Dropout> dropout_;
};

class WideResNet : public Network {
 public:
  WideResNet(const ModelOptions& options, comm::Collectives& bn_comm) : Network("WideResNet") {
    const NormMaker norm(options, bn_comm);
    std::int64_t channels = options.width;
    conv1_ = register_module("conv1", conv3x3(3, channels));
    for (int stage = 0; stage < kStages; ++stage) {
      const std::string name = "layer" + std::to_string(stage + 1);
      auto layer = register_module(name, std::make_shared<torch::nn::Module>(name));
      const std::int64_t out = kFactor * (options.width << stage);
      for (int block = 0; block < kBlocksPerStage; ++block) {
        const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
        const WideBlock::Shape shape{channels, out, stride};
        // Layers of dropout are numbered over the network, so that no two draw the same mask.
        const std::int64_t number = stage * kBlocksPerStage + block;
        blocks_.push_back(layer->register_module(
            std::to_string(block),
            std::make_shared<WideBlock>(shape, options.dropout, number, norm)));
        channels = out;
      }
    }
    bn1_ = register_module("bn1", norm(channels));
    fc_ = register_module("fc", std::make_shared<Linear>(channels, options.classes));
  }

  at::Tensor forward(at::Tensor x, const StepContext& context) override {
    x = conv1_->forward(x);
    for (const auto& block : blocks_) x = block->forward(x, context);
    return fc_->forward(mean_over_pixels(at::relu(bn1_->forward(x, context))));
  }

 private:
  std::shared_ptr<Conv2d> conv1_;
  std::vector<std::shared_ptr<WideBlock>> blocks_;
  std::shared_ptr<SyncBatchNorm> bn1_;
  std::shared_ptr<Linear> fc_;
};

std::shared_ptr<Network> make_wide_resnet(const ModelOptions& options, comm::Collectives& bn_comm) {
  return std::make_shared<WideResNet>(options, bn_comm);
}

}  // namespace

ModelEntry wide_resnet28_10() {
  return {.name = "wide_resnet28_10",
          .summary = "28 layers, 10 times as wide (160, 320, 640), dropout inside the blocks",
          .make = &make_wide_resnet,
          .init = {WeightInit::kKaimingFanOut, WeightInit::kUniformFanIn, BiasInit::kUniformFanIn},
          .default_width = 16,
          .shrinks_by = [](const ModelOptions& /*options*/) -> std::int64_t { return 4; },
          .options = {"model.dropout", "model.bn_momentum"}};
}

}  // namespace lockstep::model
