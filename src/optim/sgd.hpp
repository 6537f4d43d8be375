#pragma once

#include <vector>

#include "grouped_optimizer.hpp"

namespace lockstep::optim {

/// Stochastic gradient descent with momentum (no dampening) or Nesterov's momentum, as PyTorch's
/// SGD: g += decay * p; m = momentum * m + g; p -= lr * (nesterov ? g + momentum * m : m).
class Sgd : public GroupedOptimizer {
 public:
  Sgd(const OptimizerOptions& options, const std::vector<NamedParameter>& parameters);

 private:
  void update(const ParameterGroup& group, const std::vector<at::Tensor>& gradients,
              const SlotTensors& slots, double lr) override;

  double momentum_;
  bool nesterov_;
};

}  // namespace lockstep::optim
