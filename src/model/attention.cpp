#include "attention.hpp"

#include <ATen/ops/bmm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>

#include <cmath>

namespace lockstep::model {

SelfAttention::SelfAttention(std::int64_t features, std::int64_t heads)
    : torch::nn::Module("SelfAttention"), heads_(heads) {
  in_weight_ = register_parameter("in_proj_weight", at::zeros({3 * features, features}));
  in_bias_ = register_parameter("in_proj_bias", at::zeros({3 * features}));
  out_proj_ = register_module("out_proj", std::make_shared<Linear>(features, features));
}

at::Tensor SelfAttention::forward(const at::Tensor& tokens) const {
  const std::int64_t n = tokens.size(0), length = tokens.size(1), features = tokens.size(2);
  const std::int64_t per_head = features / heads_;
  // Queries, keys and values: [3, n, heads, T, F / heads]. All sizes are spelt out, since none can
  // be inferred for an empty batch.
  const at::Tensor projected = at::linear(tokens, in_weight_, in_bias_)
                                   .reshape({n, length, 3, heads_, per_head})
                                   .permute({2, 0, 3, 1, 4});
  const auto part = [&](std::int64_t index) {
    return projected.select(0, index).reshape({n * heads_, length, per_head});
  };
  const at::Tensor queries = part(0) * (1.0 / std::sqrt(static_cast<double>(per_head)));
  const at::Tensor weights = at::softmax(at::bmm(queries, part(1).transpose(1, 2)), -1);
  const at::Tensor mixed = at::bmm(weights, part(2)).reshape({n, heads_, length, per_head});
  return out_proj_->forward(mixed.transpose(1, 2).reshape({n, length, features}));
}

}  // namespace lockstep::model
