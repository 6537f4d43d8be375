#include "adamw.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>

namespace lockstep::optim {

AdamW::AdamW(const OptimizerOptions& options, const std::vector<NamedParameter>& parameters)
    : beta1_(options.beta1), beta2_(options.beta2), eps_(options.eps) {
  for (auto& group : make_groups(options, parameters)) {
    auto first = group.make_state();
    auto second = group.make_state();
    states_.push_back({std::move(group), std::move(first), std::move(second)});
  }
}

void AdamW::step(double lr) {
  const at::NoGradGuard no_grad;
  ++steps_;
  for (auto& state : states_) {
    const auto& parameters = state.group.parameters;
    const auto gradients = state.group.gradients();
    const at::Tensor count =
        at::full({}, static_cast<double>(steps_), parameters.front().options().dtype(at::kFloat));
    const std::vector<at::Tensor> counts(parameters.size(), count);
    at::_fused_adamw_(parameters, gradients, state.first_moment, state.second_moment,
                      /*max_exp_avg_sqs=*/{}, counts, lr, beta1_, beta2_, state.group.weight_decay,
                      eps_, /*amsgrad=*/false, /*maximize=*/false);
  }
}

std::vector<std::pair<std::string, at::Tensor>> AdamW::state() const {
  std::vector<std::pair<std::string, at::Tensor>> all;
  for (const auto& state : states_) {
    append_state(state.group, "exp_avg", state.first_moment, all);
    append_state(state.group, "exp_avg_sq", state.second_moment, all);
  }
  return all;
}

}  // namespace lockstep::optim
