#include <ATen/ops/flatten.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>

#include <array>
#include <string>

#include "architectures.hpp"
#include "basic_layers.hpp"
#include "lockstep/model/layers.hpp"

namespace lockstep::model {
namespace {

// Four convolutions with BatchNorm, two linear layers; the manner and names of torchvision's vgg.
class CifarCnn : public Network {
 public:
  CifarCnn(const ModelOptions& options, comm::Collectives& bn_comm) : Network("CifarCnn") {
    const std::int64_t width = options.width;
    const std::int64_t flat = 2 * width * (options.height / 4) * (options.width_pixels / 4);
    auto features = register_module("features", std::make_shared<torch::nn::Module>("features"));
    // Numbers count ReLU and pooling too, as in a Sequential of PyTorch.
    constexpr std::array<int, 4> kNumbers{0, 3, 7, 10};
    const std::array<std::int64_t, 5> channels{3, width, width, 2 * width, 2 * width};
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      stages_[i].conv = features->register_module(
          std::to_string(kNumbers[i]),
          std::make_shared<Conv2d>(channels[i], channels[i + 1], Conv2d::Geometry{}, false));
      stages_[i].norm = features->register_module(
          std::to_string(kNumbers[i] + 1),
          std::make_shared<SyncBatchNorm>(channels[i + 1], options.bn_momentum, bn_comm));
    }
    auto classifier =
        register_module("classifier", std::make_shared<torch::nn::Module>("classifier"));
    hidden_ = classifier->register_module("0", std::make_shared<Linear>(flat, 16 * width));
    dropout_ = classifier->register_module("2", std::make_shared<Dropout>(options.dropout, 0));
    output_ =
        classifier->register_module("3", std::make_shared<Linear>(16 * width, options.classes));
  }

  at::Tensor forward(at::Tensor x, const StepContext& context) override {
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      x = at::relu(stages_[i].norm->forward(stages_[i].conv->forward(x), context));
      if (i % 2 == 1) x = at::max_pool2d(x, 2);
    }
    x = at::relu(hidden_->forward(at::flatten(x, 1)));
    return output_->forward(dropout_->forward(x, context));
  }

 private:
  struct Stage {
    std::shared_ptr<Conv2d> conv;
    std::shared_ptr<SyncBatchNorm> norm;
  };
  std::array<Stage, 4> stages_;
  std::shared_ptr<Linear> hidden_, output_;
  std::shared_ptr<Dropout> dropout_;
};

std::shared_ptr<Network> make_cifar_cnn(const ModelOptions& options, comm::Collectives& bn_comm) {
  return std::make_shared<CifarCnn>(options, bn_comm);
}

}  // namespace

ModelEntry cifar_cnn() {
  return {.name = "cifar_cnn",
          .summary = "4 convolutions (32, 32, 64, 64) with BatchNorm, 2 linear layers",
          .make = &make_cifar_cnn,
          .init = {WeightInit::kKaimingFanOut, WeightInit::kNormal001, BiasInit::kZero},
          .default_width = 32,
          .shrinks_by = [](const ModelOptions& /*options*/) -> std::int64_t { return 4; },
          .options = {"model.dropout", "model.bn_momentum"}};
}

}  // namespace lockstep::model
