#include "sgd.hpp"

#include <ATen/ops/_fused_sgd.h>

namespace lockstep::optim {
namespace {

std::vector<std::string> slots_of(const OptimizerOptions& options) {
  if (options.momentum > 0) return {"momentum"};
  return {};
}

}  // namespace

Sgd::Sgd(const OptimizerOptions& options, const std::vector<NamedParameter>& parameters)
    : GroupedOptimizer(options, parameters, slots_of(options), "momentum"),
      momentum_(options.momentum),
      nesterov_(options.nesterov) {}

void Sgd::update(const ParameterGroup& group, const std::vector<at::Tensor>& gradients,
                 const SlotTensors& slots, double lr) {
  const std::vector<at::Tensor> none;
  // Momentum starts at zero, so the first step needs no case of its own.
  at::_fused_sgd_(group.parameters, gradients, slots.empty() ? none : slots.front(),
                  group.weight_decay, momentum_, lr, /*dampening=*/0, nesterov_,
                  /*maximize=*/false, /*is_first_step=*/false);
}

}  // namespace lockstep::optim
