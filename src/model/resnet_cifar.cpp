#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/relu.h>

#include <string>
#include <string_view>
#include <vector>

#include "architectures.hpp"
#include "residual_layers.hpp"

namespace lockstep::model {
namespace {

// Residual block whose shortcut has no parameters ("option A" of He, Zhang, Ren, Sun 2016): where
// the shape changes it takes every second pixel, and the channels that x lacks are zeros, half of
// them before those of x.
class Block : public torch::nn::Module {
 public:
  Block(std::int64_t in, std::int64_t out, std::int64_t stride, const NormMaker& norm)
      : torch::nn::Module("Block"), stride_(stride), missing_(out - in) {
    conv1_ = register_module("conv1", conv3x3(in, out, stride));
    bn1_ = register_module("bn1", norm(out));
    conv2_ = register_module("conv2", conv3x3(out, out));
    bn2_ = register_module("bn2", norm(out));
  }

  at::Tensor forward(const at::Tensor& x, const StepContext& context) {
    at::Tensor y = at::relu(bn1_->forward(conv1_->forward(x), context));
    y = bn2_->forward(conv2_->forward(y), context);
    return at::relu(y + shortcut(x));
  }

 private:
  [[nodiscard]] at::Tensor shortcut(const at::Tensor& x) const {
    if (stride_ == 1 && missing_ == 0) return x;
    const at::Tensor picked =
        x.slice(2, 0, std::nullopt, stride_).slice(3, 0, std::nullopt, stride_);
    const std::int64_t before = missing_ / 2;
    return at::constant_pad_nd(picked, {0, 0, 0, 0, before, missing_ - before});
  }

  std::shared_ptr<Conv2d> conv1_, conv2_;
  std::shared_ptr<SyncBatchNorm> bn1_, bn2_;
  std::int64_t stride_, missing_;
};

// The network of section 4.2: three stages of as many blocks, each stage with twice the channels
// and half the size of the one before.
class CifarResNet : public Network {
 public:
  CifarResNet(const ModelOptions& options, int blocks_per_stage, comm::Collectives& bn_comm)
      : Network("CifarResNet") {
    const NormMaker norm(options, bn_comm);
    std::int64_t channels = options.width;
    conv1_ = register_module("conv1", conv3x3(3, channels));
    bn1_ = register_module("bn1", norm(channels));
    for (int stage = 0; stage < 3; ++stage) {
      const std::string name = "layer" + std::to_string(stage + 1);
      auto layer = register_module(name, std::make_shared<torch::nn::Module>(name));
      const std::int64_t out = options.width << stage;
      for (int block = 0; block < blocks_per_stage; ++block) {
        const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
        blocks_.push_back(layer->register_module(
            std::to_string(block), std::make_shared<Block>(channels, out, stride, norm)));
        channels = out;
      }
    }
    fc_ = register_module("fc", std::make_shared<Linear>(channels, options.classes));
  }

  at::Tensor forward(at::Tensor x, const StepContext& context) override {
    x = at::relu(bn1_->forward(conv1_->forward(x), context));
    for (const auto& block : blocks_) x = block->forward(x, context);
    return fc_->forward(mean_over_pixels(x));
  }

 private:
  std::shared_ptr<Conv2d> conv1_;
  std::shared_ptr<SyncBatchNorm> bn1_;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::shared_ptr<Linear> fc_;
};

template <int BlocksPerStage>
std::shared_ptr<Network> make_cifar_resnet(const ModelOptions& options,
                                           comm::Collectives& bn_comm) {
  return std::make_shared<CifarResNet>(options, BlocksPerStage, bn_comm);
}

ModelEntry cifar_entry(std::string_view name, std::string_view summary,
                       decltype(ModelEntry::make) make) {
  return {.name = name,
          .summary = summary,
          .make = make,
          .init = {WeightInit::kKaimingFanOut, WeightInit::kUniformFanIn, BiasInit::kUniformFanIn},
          .default_width = 16,
          .shrinks_by = [](const ModelOptions& /*options*/) -> std::int64_t { return 4; },
          .options = {"model.bn_momentum"}};
}

}  // namespace

ModelEntry resnet20() {
  return cifar_entry("resnet20",
                     "20 layers (16, 32, 64) for CIFAR, residual, shortcuts without parameters",
                     &make_cifar_resnet<3>);
}

ModelEntry resnet56() {
  return cifar_entry("resnet56", "56 layers, likewise", &make_cifar_resnet<9>);
}

}  // namespace lockstep::model
