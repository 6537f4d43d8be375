#pragma once

#include <vector>

#include "lockstep/optim/optimizer.hpp"
#include "parameter_groups.hpp"

namespace lockstep::optim {

/// Adam with decoupled weight decay (Loshchilov, Hutter 2019), as PyTorch's AdamW.
class AdamW : public Optimizer {
 public:
  AdamW(const OptimizerOptions& options, const std::vector<NamedParameter>& parameters);
  void step(double lr) override;
  [[nodiscard]] std::vector<std::pair<std::string, at::Tensor>> state() const override;
  [[nodiscard]] std::int64_t steps() const override { return steps_; }
  [[nodiscard]] std::int64_t state_tensors() const override { return 2; }

 private:
  struct State {
    ParameterGroup group;
    std::vector<at::Tensor> first_moment;
    std::vector<at::Tensor> second_moment;
  };
  double beta1_;
  double beta2_;
  double eps_;
  std::int64_t steps_ = 0;
  std::vector<State> states_;
};

}  // namespace lockstep::optim
