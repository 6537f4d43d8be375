#include "parameter_groups.hpp"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>

#include <map>

#include "lockstep/base/check.hpp"
#include "lr_scales.hpp"

namespace lockstep::optim {

std::vector<at::Tensor> ParameterGroup::make_state() const {
  std::vector<at::Tensor> state;
  for (const auto& parameter : parameters) state.push_back(at::zeros_like(parameter.detach()));
  return state;
}

std::vector<at::Tensor> ParameterGroup::gradients() const {
  std::vector<at::Tensor> all;
  all.reserve(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& gradient = parameters[i].grad();
    require(gradient.defined(), "parameter " + names[i] + " has no gradient",
            "no backward pass reached it and no reducer gave it zeros",
            "freeze it, or use it in the forward pass");
    if (gradient.strides() == parameters[i].strides()) {
      all.push_back(gradient);
    } else {
      all.push_back(at::empty_like(parameters[i].detach()).copy_(gradient));
    }
  }
  return all;
}

std::vector<ParameterGroup> make_groups(const OptimizerOptions& options,
                                        const std::vector<NamedParameter>& parameters) {
  const std::vector<double> scales = lr_scale_of_each(options.lr_scales, parameters);
  std::map<std::pair<bool, double>, ParameterGroup> groups;  // those that decay first
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& [name, parameter] = parameters[i];
    const bool decayed = parameter.dim() > 1 || options.decay_norm_and_bias;
    ParameterGroup& group = groups[{!decayed, scales[i]}];
    group.weight_decay = decayed ? options.weight_decay : 0;
    group.lr_scale = scales[i];
    group.parameters.push_back(parameter);
    group.names.push_back(name);
  }
  std::vector<ParameterGroup> all;
  all.reserve(groups.size());
  for (auto& [key, group] : groups) all.push_back(std::move(group));
  return all;
}

void append_state(const ParameterGroup& group, const std::string& slot,
                  const std::vector<at::Tensor>& tensors,
                  std::vector<std::pair<std::string, at::Tensor>>& state) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    state.emplace_back(slot + "." + group.names[i], tensors[i]);
  }
}

}  // namespace lockstep::optim
