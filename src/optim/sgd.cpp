#include "sgd.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_sgd.h>

namespace lockstep::optim {

Sgd::Sgd(const OptimizerOptions& options, const std::vector<NamedParameter>& parameters)
    : momentum_(options.momentum),
      nesterov_(options.nesterov),
      groups_(make_groups(options, parameters)) {
  for (const auto& group : groups_) {
    buffers_.push_back(momentum_ > 0 ? group.make_state() : std::vector<at::Tensor>{});
  }
}

void Sgd::step(double lr) {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const auto gradients = groups_[i].gradients();
    // Buffers start at zero, so the first step needs no case of its own.
    at::_fused_sgd_(groups_[i].parameters, gradients, buffers_[i], groups_[i].weight_decay,
                    momentum_, lr, /*dampening=*/0, nesterov_, /*maximize=*/false,
                    /*is_first_step=*/false);
  }
  ++steps_;
}

std::vector<std::pair<std::string, at::Tensor>> Sgd::state() const {
  std::vector<std::pair<std::string, at::Tensor>> all;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    append_state(groups_[i], "momentum", buffers_[i], all);
  }
  return all;
}

}  // namespace lockstep::optim
