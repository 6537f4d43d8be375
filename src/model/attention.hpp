#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <memory>

#include "basic_layers.hpp"

namespace lockstep::model {

/// Self-attention of several heads (Vaswani et al. 2017) over the tokens of each sample:
/// [n, T, F] -> [n, T, F], n may be 0, F is a multiple of the heads. Parameters as those of
/// PyTorch's MultiheadAttention: in_proj_weight [3F, F] and in_proj_bias (queries, keys, values),
/// out_proj.
class SelfAttention : public torch::nn::Module {
 public:
  SelfAttention(std::int64_t features, std::int64_t heads);
  at::Tensor forward(const at::Tensor& tokens) const;

 private:
  at::Tensor in_weight_, in_bias_;
  std::shared_ptr<Linear> out_proj_;
  std::int64_t heads_;
};

}  // namespace lockstep::model
