#pragma once

#include <torch/types.h>

#include <string>
#include <utility>
#include <vector>

#include "lockstep/optim/optimizer.hpp"

namespace lockstep::optim {

/// Parameters that share a weight decay and a factor of the learning rate, with what the fused
/// kernels want beside them.
struct ParameterGroup {
  double weight_decay = 0;
  double lr_scale = 1;
  std::vector<at::Tensor> parameters{};
  std::vector<std::string> names{};

  /// Zeros like each parameter, of its strides.
  [[nodiscard]] std::vector<at::Tensor> make_state() const;
  /// The gradients, each of its parameter's strides (the fused kernels walk both in memory order).
  /// Throws Error when one is missing.
  [[nodiscard]] std::vector<at::Tensor> gradients() const;
};

/// Parameters of more than one dimension decay; those of one (biases, BatchNorm) only with
/// decay_norm_and_bias. Each of the two kinds falls into a group for each factor of the learning
/// rate. No empty groups. Throws UsageError on a prefix that counts for no parameter.
[[nodiscard]] std::vector<ParameterGroup> make_groups(
    const OptimizerOptions& options, const std::vector<NamedParameter>& parameters);

/// Appends ("<slot>.<name>", tensor) for all of `tensors`.
void append_state(const ParameterGroup& group, const std::string& slot,
                  const std::vector<at::Tensor>& tensors,
                  std::vector<std::pair<std::string, at::Tensor>>& state);

}  // namespace lockstep::optim
