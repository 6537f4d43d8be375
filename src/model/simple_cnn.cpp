#include <ATen/ops/flatten.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>

#include "architectures.hpp"
#include "basic_layers.hpp"
#include "lockstep/model/layers.hpp"

namespace lockstep::model {
namespace {

// Two convolutions and two linear layers, without BatchNorm: accumulation equals the big batch.
class SimpleCnn : public Network {
 public:
  explicit SimpleCnn(const ModelOptions& options) : Network("SimpleCnn") {
    const std::int64_t width = options.width;
    const std::int64_t features = 2 * width * (options.height / 4) * (options.width_pixels / 4);
    conv1_ = register_module("conv1", std::make_shared<Conv2d>(3, width, Conv2d::Geometry{}, true));
    conv2_ = register_module("conv2",
                             std::make_shared<Conv2d>(width, 2 * width, Conv2d::Geometry{}, true));
    dropout1_ = register_module("dropout1", std::make_shared<Dropout>(options.dropout, 0));
    fc1_ = register_module("fc1", std::make_shared<Linear>(features, 4 * width));
    dropout2_ = register_module("dropout2", std::make_shared<Dropout>(options.dropout, 1));
    fc2_ = register_module("fc2", std::make_shared<Linear>(4 * width, options.classes));
  }

  at::Tensor forward(at::Tensor x, const StepContext& context) override {
    x = at::max_pool2d(at::relu(conv1_->forward(x)), 2);
    x = at::max_pool2d(at::relu(conv2_->forward(x)), 2);
    x = dropout1_->forward(at::flatten(x, 1), context);
    x = dropout2_->forward(at::relu(fc1_->forward(x)), context);
    return fc2_->forward(x);
  }

 private:
  std::shared_ptr<Conv2d> conv1_, conv2_;
  std::shared_ptr<Linear> fc1_, fc2_;
  std::shared_ptr<Dropout> dropout1_, dropout2_;
};

std::shared_ptr<Network> make_simple_cnn(const ModelOptions& options,
                                         comm::Collectives& /*bn_comm*/) {
  return std::make_shared<SimpleCnn>(options);
}

}  // namespace

ModelEntry simple_cnn() {
  return {.name = "simple_cnn",
          .summary = "2 convolutions (32, 64), pooling, dropout, 2 linear layers; no BatchNorm",
          .make = &make_simple_cnn,
          .init = {WeightInit::kUniformFanIn, WeightInit::kUniformFanIn, BiasInit::kUniformFanIn},
          .default_width = 32,
          .shrinks_by = [](const ModelOptions& /*options*/) -> std::int64_t { return 4; },
          .options = {"model.dropout"}};
}

}  // namespace lockstep::model
