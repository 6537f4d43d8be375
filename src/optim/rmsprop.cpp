#include "rmsprop.hpp"

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcdiv.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sqrt.h>

namespace lockstep::optim {
namespace {

std::vector<std::string> slots_of(const OptimizerOptions& options) {
  if (options.momentum > 0) return {"square_avg", "momentum"};
  return {"square_avg"};
}

}  // namespace

RmsProp::RmsProp(const OptimizerOptions& options, const std::vector<NamedParameter>& parameters)
    : GroupedOptimizer(options, parameters, slots_of(options), "momentum"),
      alpha_(options.alpha),
      momentum_(options.momentum),
      eps_(options.eps) {}

void RmsProp::update(const ParameterGroup& group, const std::vector<at::Tensor>& gradients,
                     const SlotTensors& slots, double lr) {
  std::vector<at::Tensor> penalised = gradients;
  if (group.weight_decay > 0) {
    // Not in place: a gradient is a view of its bucket, which others may still read.
    penalised = at::_foreach_add(gradients, group.parameters, group.weight_decay);
  }
  const std::vector<at::Tensor>& square_avg = slots[0];
  at::_foreach_mul_(square_avg, alpha_);
  at::_foreach_addcmul_(square_avg, penalised, penalised, 1 - alpha_);
  const std::vector<at::Tensor> root = at::_foreach_sqrt(square_avg);
  at::_foreach_add_(root, eps_);
  if (momentum_ > 0) {
    const std::vector<at::Tensor>& momentum = slots[1];
    at::_foreach_mul_(momentum, momentum_);
    at::_foreach_addcdiv_(momentum, penalised, root);
    at::_foreach_add_(group.parameters, momentum, -lr);
  } else {
    at::_foreach_addcdiv_(group.parameters, penalised, root, -lr);
  }
}

}  // namespace lockstep::optim
