#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/optim/optimizer.hpp"
#include "parameter_groups.hpp"

namespace lockstep::optim {

/// What all optimizers share: the groups of parameters, a state tensor for each slot and parameter
/// (zeros at first), and the count of steps. A kind of optimizer adds its arithmetic.
class GroupedOptimizer : public Optimizer {
 public:
  void step(double lr) final;
  [[nodiscard]] std::vector<std::pair<std::string, at::Tensor>> state() const final;
  [[nodiscard]] std::int64_t steps() const final { return steps_; }
  [[nodiscard]] std::int64_t state_tensors() const final {
    return static_cast<std::int64_t>(slots_.size());
  }
  void load(const std::vector<std::pair<std::string, at::Tensor>>& state, std::int64_t steps) final;

 protected:
  /// For each slot one tensor per parameter of a group.
  using SlotTensors = std::vector<std::vector<at::Tensor>>;

  /// `slots` name the state tensors of a parameter: "square_avg". One that only some values of the
  /// options need is `optional`, in `slots` or not: a saved state that lacks it leaves it at zeros,
  /// one that has it in vain is taken without it.
  GroupedOptimizer(const OptimizerOptions& options, const std::vector<NamedParameter>& parameters,
                   std::vector<std::string> slots, std::string optional = {});

  /// Updates the parameters of one group, with gradients off. steps() counts this step already.
  virtual void update(const ParameterGroup& group, const std::vector<at::Tensor>& gradients,
                      const SlotTensors& slots, double lr) = 0;

 private:
  struct GroupState {
    ParameterGroup group;
    SlotTensors slots;
  };
  std::vector<std::string> slots_;
  std::string optional_;
  std::vector<GroupState> groups_;
  std::int64_t steps_ = 0;
};

}  // namespace lockstep::optim
