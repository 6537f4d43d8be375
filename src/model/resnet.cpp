#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/flatten.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>

#include <string>
#include <utility>
#include <vector>

#include "architectures.hpp"
#include "basic_layers.hpp"
#include "lockstep/model/layers.hpp"

namespace lockstep::model {
namespace {

constexpr Conv2d::Geometry kPointwise{.kernel = 1, .stride = 1, .padding = 0};

// Residual block of two 3x3 convolutions (He, Zhang, Ren, Sun 2016), torchvision's names.
class BasicBlock : public torch::nn::Module {
 public:
  BasicBlock(std::int64_t in, std::int64_t out, std::int64_t stride, double momentum,
             comm::Collectives& bn_comm)
      : torch::nn::Module("BasicBlock") {
    Conv2d::Geometry first;
    first.stride = stride;
    conv1_ = register_module("conv1", std::make_shared<Conv2d>(in, out, first, false));
    bn1_ = register_module("bn1", std::make_shared<SyncBatchNorm>(out, momentum, bn_comm));
    conv2_ =
        register_module("conv2", std::make_shared<Conv2d>(out, out, Conv2d::Geometry{}, false));
    bn2_ = register_module("bn2", std::make_shared<SyncBatchNorm>(out, momentum, bn_comm));
    if (stride != 1 || in != out) {
      auto downsample =
          register_module("downsample", std::make_shared<torch::nn::Module>("downsample"));
      Conv2d::Geometry geometry = kPointwise;
      geometry.stride = stride;
      shortcut_conv_ =
          downsample->register_module("0", std::make_shared<Conv2d>(in, out, geometry, false));
      shortcut_bn_ =
          downsample->register_module("1", std::make_shared<SyncBatchNorm>(out, momentum, bn_comm));
    }
  }

  at::Tensor forward(const at::Tensor& x, const StepContext& context) {
    at::Tensor y = at::relu(bn1_->forward(conv1_->forward(x), context));
    y = bn2_->forward(conv2_->forward(y), context);
    const at::Tensor shortcut =
        shortcut_conv_ ? shortcut_bn_->forward(shortcut_conv_->forward(x), context) : x;
    return at::relu(y + shortcut);
  }

 private:
  std::shared_ptr<Conv2d> conv1_, conv2_, shortcut_conv_;
  std::shared_ptr<SyncBatchNorm> bn1_, bn2_, shortcut_bn_;
};

class ResNet : public Network {
 public:
  ResNet(const ModelOptions& options, const std::vector<int>& blocks, comm::Collectives& bn_comm)
      : Network("ResNet"), imagenet_stem_(options.stem == "imagenet") {
    const Conv2d::Geometry stem = imagenet_stem_
                                      ? Conv2d::Geometry{.kernel = 7, .stride = 2, .padding = 3}
                                      : Conv2d::Geometry{};
    std::int64_t channels = options.width;
    conv1_ = register_module("conv1", std::make_shared<Conv2d>(3, channels, stem, false));
    bn1_ = register_module("bn1",
                           std::make_shared<SyncBatchNorm>(channels, options.bn_momentum, bn_comm));
    for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
      const std::string name = "layer" + std::to_string(stage + 1);
      auto layer = register_module(name, std::make_shared<torch::nn::Module>(name));
      const std::int64_t out = options.width << stage;
      for (int block = 0; block < blocks[stage]; ++block) {
        const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
        blocks_.push_back(layer->register_module(
            std::to_string(block),
            std::make_shared<BasicBlock>(channels, out, stride, options.bn_momentum, bn_comm)));
        channels = out;
      }
    }
    fc_ = register_module("fc", std::make_shared<Linear>(channels, options.classes));
  }

  at::Tensor forward(at::Tensor x, const StepContext& context) override {
    x = at::relu(bn1_->forward(conv1_->forward(x), context));
    if (imagenet_stem_) x = at::max_pool2d(x, 3, 2, 1);
    for (const auto& block : blocks_) x = block->forward(x, context);
    return fc_->forward(at::flatten(at::adaptive_avg_pool2d(x, {1, 1}), 1));
  }

 private:
  bool imagenet_stem_;
  std::shared_ptr<Conv2d> conv1_;
  std::shared_ptr<SyncBatchNorm> bn1_;
  std::vector<std::shared_ptr<BasicBlock>> blocks_;
  std::shared_ptr<Linear> fc_;
};

}  // namespace

std::shared_ptr<Network> make_resnet18(const ModelOptions& options, comm::Collectives& bn_comm) {
  return std::make_shared<ResNet>(options, std::vector<int>{2, 2, 2, 2}, bn_comm);
}

}  // namespace lockstep::model
