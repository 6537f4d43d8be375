#pragma once

#include <vector>

#include "grouped_optimizer.hpp"

namespace lockstep::optim {

/// How weight decay acts: as a penalty in the gradient, or on the weights themselves.
enum class Decay { kPenalty, kDecoupled };

/// Adam (Kingma, Ba 2015) as PyTorch's Adam, or with decoupled weight decay (Loshchilov, Hutter
/// 2019) as its AdamW.
class Adam : public GroupedOptimizer {
 public:
  Adam(const OptimizerOptions& options, const std::vector<NamedParameter>& parameters, Decay decay);

 private:
  void update(const ParameterGroup& group, const std::vector<at::Tensor>& gradients,
              const SlotTensors& slots, double lr) override;

  double beta1_;
  double beta2_;
  double eps_;
  Decay decay_;
};

}  // namespace lockstep::optim
