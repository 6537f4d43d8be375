#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>

namespace lockstep::model {

/// 2-d convolution with a square kernel. Weights are left at zero: initialise() sets them, so that
/// no global random generator is involved.
class Conv2d : public torch::nn::Module {
 public:
  struct Geometry {
    std::int64_t kernel = 3;
    std::int64_t stride = 1;
    std::int64_t padding = 1;
  };
  Conv2d(std::int64_t in_channels, std::int64_t out_channels, const Geometry& geometry, bool bias);
  at::Tensor forward(const at::Tensor& x) const;

 private:
  at::Tensor weight_, bias_;
  Geometry geometry_;
};

/// Fully connected layer [..., in] -> [..., out]; weights as in Conv2d.
class Linear : public torch::nn::Module {
 public:
  Linear(std::int64_t in_features, std::int64_t out_features);
  at::Tensor forward(const at::Tensor& x) const;

 private:
  at::Tensor weight_, bias_;
};

/// Layer normalisation over the last dimension (Ba, Kiros, Hinton 2016): weight 1, bias 0.
class LayerNorm : public torch::nn::Module {
 public:
  LayerNorm(std::int64_t features, double eps);
  at::Tensor forward(const at::Tensor& x) const;

 private:
  at::Tensor weight_, bias_;
  double eps_;
};

}  // namespace lockstep::model
