#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "architectures.hpp"
#include "residual_layers.hpp"

namespace lockstep::model {
namespace {

// The shortcut of a block that changes the shape.
class Downsample : public torch::nn::Module {
 public:
  Downsample(std::int64_t in, std::int64_t out, std::int64_t stride, const NormMaker& norm)
      : torch::nn::Module("Downsample") {
    conv_ = register_module("0", conv1x1(in, out, stride));
    bn_ = register_module("1", norm(out));
  }

  at::Tensor forward(const at::Tensor& x, const StepContext& context) {
    return bn_->forward(conv_->forward(x), context);
  }

 private:
  std::shared_ptr<Conv2d> conv_;
  std::shared_ptr<SyncBatchNorm> bn_;
};

// Residual block of two 3x3 convolutions (He, Zhang, Ren, Sun 2016), torchvision's names.
class BasicBlock : public torch::nn::Module {
 public:
  static constexpr std::int64_t kExpansion = 1;

  BasicBlock(std::int64_t in, std::int64_t channels, std::int64_t stride, const NormMaker& norm)
      : torch::nn::Module("BasicBlock") {
    conv1_ = register_module("conv1", conv3x3(in, channels, stride));
    bn1_ = register_module("bn1", norm(channels));
    conv2_ = register_module("conv2", conv3x3(channels, channels));
    bn2_ = register_module("bn2", norm(channels));
    if (stride != 1 || in != channels) {
      downsample_ =
          register_module("downsample", std::make_shared<Downsample>(in, channels, stride, norm));
    }
  }

  at::Tensor forward(const at::Tensor& x, const StepContext& context) {
    at::Tensor y = at::relu(bn1_->forward(conv1_->forward(x), context));
    y = bn2_->forward(conv2_->forward(y), context);
    return at::relu(y + (downsample_ ? downsample_->forward(x, context) : x));
  }

 private:
  std::shared_ptr<Conv2d> conv1_, conv2_;
  std::shared_ptr<SyncBatchNorm> bn1_, bn2_;
  std::shared_ptr<Downsample> downsample_;
};

// Residual block of a 3x3 convolution between two of 1x1. The stride is that of the 3x3, as in
// torchvision ("v1.5"); the paper has it in the first 1x1.
class Bottleneck : public torch::nn::Module {
 public:
  static constexpr std::int64_t kExpansion = 4;

  Bottleneck(std::int64_t in, std::int64_t channels, std::int64_t stride, const NormMaker& norm)
      : torch::nn::Module("Bottleneck") {
    const std::int64_t out = kExpansion * channels;
    conv1_ = register_module("conv1", conv1x1(in, channels));
    bn1_ = register_module("bn1", norm(channels));
    conv2_ = register_module("conv2", conv3x3(channels, channels, stride));
    bn2_ = register_module("bn2", norm(channels));
    conv3_ = register_module("conv3", conv1x1(channels, out));
    bn3_ = register_module("bn3", norm(out));
    if (stride != 1 || in != out) {
      downsample_ =
          register_module("downsample", std::make_shared<Downsample>(in, out, stride, norm));
    }
  }

  at::Tensor forward(const at::Tensor& x, const StepContext& context) {
    at::Tensor y = at::relu(bn1_->forward(conv1_->forward(x), context));
    y = at::relu(bn2_->forward(conv2_->forward(y), context));
    y = bn3_->forward(conv3_->forward(y), context);
    return at::relu(y + (downsample_ ? downsample_->forward(x, context) : x));
  }

 private:
  std::shared_ptr<Conv2d> conv1_, conv2_, conv3_;
  std::shared_ptr<SyncBatchNorm> bn1_, bn2_, bn3_;
  std::shared_ptr<Downsample> downsample_;
};

using BlockCounts = std::array<int, 4>;

template <typename Block>
class ResNet : public Network {
 public:
  ResNet(const ModelOptions& options, const BlockCounts& blocks, comm::Collectives& bn_comm)
      : Network("ResNet"), imagenet_stem_(options.stem == "imagenet") {
    const Conv2d::Geometry stem = imagenet_stem_
                                      ? Conv2d::Geometry{.kernel = 7, .stride = 2, .padding = 3}
                                      : Conv2d::Geometry{};
    const NormMaker norm(options, bn_comm);
    std::int64_t in = options.width;
    conv1_ = register_module("conv1", std::make_shared<Conv2d>(3, in, stem, false));
    bn1_ = register_module("bn1", norm(in));
    for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
      const std::string name = "layer" + std::to_string(stage + 1);
      auto layer = register_module(name, std::make_shared<torch::nn::Module>(name));
      const std::int64_t channels = options.width << stage;
      for (int block = 0; block < blocks[stage]; ++block) {
        const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
        blocks_.push_back(layer->register_module(
            std::to_string(block), std::make_shared<Block>(in, channels, stride, norm)));
        in = channels * Block::kExpansion;
      }
    }
    fc_ = register_module("fc", std::make_shared<Linear>(in, options.classes));
  }

  at::Tensor forward(at::Tensor x, const StepContext& context) override {
    x = at::relu(bn1_->forward(conv1_->forward(x), context));
    if (imagenet_stem_) x = at::max_pool2d(x, 3, 2, 1);
    for (const auto& block : blocks_) x = block->forward(x, context);
    return fc_->forward(mean_over_pixels(x));
  }

 private:
  bool imagenet_stem_;
  std::shared_ptr<Conv2d> conv1_;
  std::shared_ptr<SyncBatchNorm> bn1_;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::shared_ptr<Linear> fc_;
};

template <typename Block, int First, int Second, int Third, int Fourth>
std::shared_ptr<Network> make_resnet(const ModelOptions& options, comm::Collectives& bn_comm) {
  return std::make_shared<ResNet<Block>>(options, BlockCounts{First, Second, Third, Fourth},
                                         bn_comm);
}

std::int64_t shrinks_by(const ModelOptions& options) { return options.stem == "imagenet" ? 32 : 8; }

ModelEntry resnet_entry(std::string_view name, std::string_view summary,
                        decltype(ModelEntry::make) make) {
  return {.name = name,
          .summary = summary,
          .make = make,
          .init = {WeightInit::kKaimingFanOut, WeightInit::kUniformFanIn, BiasInit::kUniformFanIn},
          .default_width = 64,
          .shrinks_by = &shrinks_by,
          .options = {"model.bn_momentum", "model.stem"}};
}

}  // namespace

ModelEntry resnet18() {
  return resnet_entry("resnet18",
                      "ResNet-18 with torchvision's names; model.stem fits it to small pictures",
                      &make_resnet<BasicBlock, 2, 2, 2, 2>);
}

ModelEntry resnet34() {
  return resnet_entry("resnet34", "ResNet-34, likewise", &make_resnet<BasicBlock, 3, 4, 6, 3>);
}

ModelEntry resnet50() {
  return resnet_entry("resnet50",
                      "ResNet-50, likewise: bottleneck blocks, stride in the 3x3 convolution",
                      &make_resnet<Bottleneck, 3, 4, 6, 3>);
}

}  // namespace lockstep::model
