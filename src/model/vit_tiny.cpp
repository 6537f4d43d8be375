#include <ATen/ops/cat.h>
#include <ATen/ops/flatten.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <string>
#include <vector>

#include "architectures.hpp"
#include "attention.hpp"
#include "basic_layers.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/model/layers.hpp"

namespace lockstep::model {
namespace {

constexpr std::int64_t kBlocks = 12;
constexpr std::int64_t kHeads = 3;
constexpr double kEps = 1e-6;  // of LayerNorm, as in torchvision

std::int64_t patch_size(const ModelOptions& options) {
  constexpr std::int64_t kLargestSmallPicture = 64;
  return std::max(options.height, options.width_pixels) <= kLargestSmallPicture ? 4 : 16;
}

// Attention, then two linear layers; both behind a LayerNorm and beside a shortcut. Its three
// layers of dropout are numbered from `first_dropout`.
class EncoderBlock : public torch::nn::Module {
 public:
  EncoderBlock(std::int64_t features, double dropout, std::int64_t first_dropout)
      : torch::nn::Module("EncoderBlock") {
    norm1_ = register_module("ln_1", std::make_shared<LayerNorm>(features, kEps));
    attention_ =
        register_module("self_attention", std::make_shared<SelfAttention>(features, kHeads));
    dropout_ = register_module("dropout", std::make_shared<Dropout>(dropout, first_dropout));
    norm2_ = register_module("ln_2", std::make_shared<LayerNorm>(features, kEps));
    // Numbers count GELU and dropout too, as in a Sequential of PyTorch.
    auto mlp = register_module("mlp", std::make_shared<torch::nn::Module>("mlp"));
    hidden_ = mlp->register_module("0", std::make_shared<Linear>(features, 4 * features));
    hidden_dropout_ =
        mlp->register_module("2", std::make_shared<Dropout>(dropout, first_dropout + 1));
    output_ = mlp->register_module("3", std::make_shared<Linear>(4 * features, features));
    output_dropout_ =
        mlp->register_module("4", std::make_shared<Dropout>(dropout, first_dropout + 2));
  }

  at::Tensor forward(const at::Tensor& x, const StepContext& context) {
    const at::Tensor attended = attention_->forward(norm1_->forward(x));
    const at::Tensor y = x + dropout_->forward(attended, context);
    const at::Tensor hidden = at::gelu(hidden_->forward(norm2_->forward(y)));
    const at::Tensor output = output_->forward(hidden_dropout_->forward(hidden, context));
    return y + output_dropout_->forward(output, context);
  }

 private:
  std::shared_ptr<LayerNorm> norm1_, norm2_;
  std::shared_ptr<SelfAttention> attention_;
  std::shared_ptr<Linear> hidden_, output_;
  std::shared_ptr<Dropout> dropout_, hidden_dropout_, output_dropout_;
};

// Vision transformer (Dosovitskiy et al. 2021), names of torchvision's VisionTransformer.
class VisionTransformer : public Network {
 public:
  explicit VisionTransformer(const ModelOptions& options) : Network("VisionTransformer") {
    const std::int64_t features = options.width, patch = patch_size(options);
    const std::int64_t patches = (options.height / patch) * (options.width_pixels / patch);
    class_token_ = register_parameter("class_token", at::zeros({1, 1, features}));
    const Conv2d::Geometry geometry{.kernel = patch, .stride = patch, .padding = 0};
    projection_ =
        register_module("conv_proj", std::make_shared<Conv2d>(3, features, geometry, true));
    auto encoder = register_module("encoder", std::make_shared<torch::nn::Module>("encoder"));
    position_ = encoder->register_parameter("pos_embedding", at::zeros({1, 1 + patches, features}));
    dropout_ = encoder->register_module("dropout", std::make_shared<Dropout>(options.dropout, 0));
    auto layers = encoder->register_module("layers", std::make_shared<torch::nn::Module>("layers"));
    for (std::int64_t i = 0; i < kBlocks; ++i) {
      blocks_.push_back(layers->register_module(
          "encoder_layer_" + std::to_string(i),
          std::make_shared<EncoderBlock>(features, options.dropout, 1 + 3 * i)));
    }
    norm_ = encoder->register_module("ln", std::make_shared<LayerNorm>(features, kEps));
    auto heads = register_module("heads", std::make_shared<torch::nn::Module>("heads"));
    head_ = heads->register_module("head", std::make_shared<Linear>(features, options.classes));
  }

  at::Tensor forward(at::Tensor x, const StepContext& context) override {
    // [n, F, h, w] -> [n, h * w, F]; the token of the class goes before those of the patches.
    x = at::flatten(projection_->forward(x), 2).transpose(1, 2);
    x = at::cat({class_token_.expand({x.size(0), 1, x.size(2)}), x}, 1);
    x = dropout_->forward(x + position_, context);
    for (const auto& block : blocks_) x = block->forward(x, context);
    // LayerNorm looks at one token at a time, and that of the class is all the head wants.
    return head_->forward(norm_->forward(x.select(1, 0)));
  }

 private:
  at::Tensor class_token_, position_;
  std::shared_ptr<Conv2d> projection_;
  std::shared_ptr<Dropout> dropout_;
  std::vector<std::shared_ptr<EncoderBlock>> blocks_;
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<Linear> head_;
};

std::shared_ptr<Network> make_vit(const ModelOptions& options, comm::Collectives& /*bn_comm*/) {
  const std::int64_t patch = patch_size(options);
  const std::string edge = std::to_string(patch);
  if (options.height % patch != 0 || options.width_pixels % patch != 0) {
    throw UsageError("pictures of " + std::to_string(options.height) + " x " +
                         std::to_string(options.width_pixels) + " pixels do not fit vit_tiny",
                     "they are cut into patches of " + edge + " x " + edge,
                     "pack them with --size in multiples of " + edge + ", or choose another model");
  }
  if (options.width % kHeads != 0) {
    throw UsageError("model.width=" + std::to_string(options.width) + " does not fit vit_tiny",
                     "its features are shared out among " + std::to_string(kHeads) + " heads",
                     "choose a multiple of " + std::to_string(kHeads));
  }
  return std::make_shared<VisionTransformer>(options);
}

}  // namespace

ModelEntry vit_tiny() {
  return {.name = "vit_tiny",
          .summary = "vision transformer: 12 blocks of 192 features, 3 heads; no BatchNorm",
          .make = &make_vit,
          .init = {WeightInit::kUniformFanIn, WeightInit::kNormal002, BiasInit::kZero},
          .default_width = 192,
          .shrinks_by = &patch_size,
          .options = {"model.dropout"}};
}

}  // namespace lockstep::model
