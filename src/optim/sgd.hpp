#pragma once

#include <vector>

#include "lockstep/optim/optimizer.hpp"
#include "parameter_groups.hpp"

namespace lockstep::optim {

/// Stochastic gradient descent with momentum (no dampening) or Nesterov's momentum, as PyTorch's
/// SGD: g += decay * p; m = momentum * m + g; p -= lr * (nesterov ? g + momentum * m : m).
class Sgd : public Optimizer {
 public:
  Sgd(const OptimizerOptions& options, const std::vector<NamedParameter>& parameters);
  void step(double lr) override;
  [[nodiscard]] std::vector<std::pair<std::string, at::Tensor>> state() const override;
  [[nodiscard]] std::int64_t steps() const override { return steps_; }
  [[nodiscard]] std::int64_t state_tensors() const override { return momentum_ > 0 ? 1 : 0; }

 private:
  double momentum_;
  bool nesterov_;
  std::int64_t steps_ = 0;
  std::vector<ParameterGroup> groups_;
  std::vector<std::vector<at::Tensor>> buffers_;  // one list per group; empty without momentum
};

}  // namespace lockstep::optim
