#include "adam.hpp"

#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>

namespace lockstep::optim {

Adam::Adam(const OptimizerOptions& options, const std::vector<NamedParameter>& parameters,
           Decay decay)
    : GroupedOptimizer(options, parameters, {"exp_avg", "exp_avg_sq"}),
      beta1_(options.beta1),
      beta2_(options.beta2),
      eps_(options.eps),
      decay_(decay) {}

void Adam::update(const ParameterGroup& group, const std::vector<at::Tensor>& gradients,
                  const SlotTensors& slots, double lr) {
  const auto& parameters = group.parameters;
  const at::Tensor count =
      at::full({}, static_cast<double>(steps()), parameters.front().options().dtype(at::kFloat));
  const std::vector<at::Tensor> counts(parameters.size(), count);
  if (decay_ == Decay::kDecoupled) {
    at::_fused_adamw_(parameters, gradients, slots[0], slots[1], /*max_exp_avg_sqs=*/{}, counts, lr,
                      beta1_, beta2_, group.weight_decay, eps_, /*amsgrad=*/false,
                      /*maximize=*/false);
  } else {
    at::_fused_adam_(parameters, gradients, slots[0], slots[1], /*max_exp_avg_sqs=*/{}, counts, lr,
                     beta1_, beta2_, group.weight_decay, eps_, /*amsgrad=*/false,
                     /*maximize=*/false);
  }
}

}  // namespace lockstep::optim
