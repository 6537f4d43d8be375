#include "basic_layers.hpp"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

namespace lockstep::model {

Conv2d::Conv2d(std::int64_t in_channels, std::int64_t out_channels, const Geometry& geometry,
               bool bias)
    : torch::nn::Module("Conv2d"), geometry_(geometry) {
  weight_ = register_parameter(
      "weight", at::zeros({out_channels, in_channels, geometry.kernel, geometry.kernel}));
  if (bias) bias_ = register_parameter("bias", at::zeros({out_channels}));
}

at::Tensor Conv2d::forward(const at::Tensor& x) const {
  // oneDNN's strided 1x1 convolution writes beyond its buffer on the way back when channels_last
  // tensors have few channels (seen with LibTorch 2.11). Picking the pixels first is the same sum.
  constexpr std::int64_t kFewChannels = 16;
  if (geometry_.kernel == 1 && geometry_.stride > 1 && x.is_cpu() && x.size(1) < kFewChannels) {
    const at::Tensor picked =
        x.slice(2, 0, std::nullopt, geometry_.stride).slice(3, 0, std::nullopt, geometry_.stride);
    return at::conv2d(picked.contiguous(x.suggest_memory_format()), weight_, bias_);
  }
  return at::conv2d(x, weight_, bias_, geometry_.stride, geometry_.padding);
}

Linear::Linear(std::int64_t in_features, std::int64_t out_features) : torch::nn::Module("Linear") {
  weight_ = register_parameter("weight", at::zeros({out_features, in_features}));
  bias_ = register_parameter("bias", at::zeros({out_features}));
}

at::Tensor Linear::forward(const at::Tensor& x) const { return at::linear(x, weight_, bias_); }

LayerNorm::LayerNorm(std::int64_t features, double eps)
    : torch::nn::Module("LayerNorm"), eps_(eps) {
  weight_ = register_parameter("weight", at::ones({features}));
  bias_ = register_parameter("bias", at::zeros({features}));
}

at::Tensor LayerNorm::forward(const at::Tensor& x) const {
  return at::layer_norm(x, {weight_.size(0)}, weight_, bias_, eps_);
}

}  // namespace lockstep::model
