#pragma once

#include <torch/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/base/choice.hpp"

namespace lockstep::optim {

struct OptimizerOptions {
  std::string name = "sgd";
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;
  bool decay_norm_and_bias = false;  ///< false: no decay on parameters of one dimension
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
};

/// A named parameter that requires a gradient.
using NamedParameter = std::pair<std::string, at::Tensor>;

/// Updates parameters from their gradients. Arithmetic as PyTorch's SGD and AdamW, in the
/// parameters' dtype.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// One update with learning rate `lr`. A parameter without a gradient is an Error.
  virtual void step(double lr) = 0;
  /// State to save, "<slot>.<parameter>" -> tensor ("momentum.conv1.weight"), and the count of
  /// steps.
  [[nodiscard]] virtual std::vector<std::pair<std::string, at::Tensor>> state() const = 0;
  [[nodiscard]] virtual std::int64_t steps() const = 0;
  /// State tensors per parameter (SGD with momentum 1, AdamW 2), for the memory summary.
  [[nodiscard]] virtual std::int64_t state_tensors() const = 0;
};

/// The optimizers, in the order of the help, each with the keys that it alone uses.
[[nodiscard]] std::vector<Choice> optimizer_list();

/// Throws UsageError on an unknown name.
[[nodiscard]] std::unique_ptr<Optimizer> make_optimizer(
    const OptimizerOptions& options, const std::vector<NamedParameter>& parameters);

}  // namespace lockstep::optim
