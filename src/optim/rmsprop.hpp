#pragma once

#include <vector>

#include "grouped_optimizer.hpp"

namespace lockstep::optim {

/// RMSprop (Hinton 2012), not centred, as PyTorch's: g += decay * p; v = alpha * v + (1 - alpha) *
/// g^2; d = g / (sqrt(v) + eps); p -= lr * d, with momentum m = momentum * m + d; p -= lr * m.
class RmsProp : public GroupedOptimizer {
 public:
  RmsProp(const OptimizerOptions& options, const std::vector<NamedParameter>& parameters);

 private:
  void update(const ParameterGroup& group, const std::vector<at::Tensor>& gradients,
              const SlotTensors& slots, double lr) override;

  double alpha_;
  double momentum_;
  double eps_;
};

}  // namespace lockstep::optim
