#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "lockstep/optim/optimizer.hpp"

namespace lockstep::optim {

/// Parameters of 4 (channels_last), 2 and 1 dimensions; the sizes are not multiples of a vector.
inline std::vector<NamedParameter> make_parameters(at::ScalarType type) {
  const auto values = [&](const std::vector<std::int64_t>& shape, double phase) {
    std::int64_t count = 1;
    for (const auto s : shape) count *= s;
    return (at::arange(count, at::kDouble) + phase).sin().view(shape).to(type);
  };
  return {
      {"conv.weight",
       values({5, 3, 3, 3}, 0.1).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_(true)},
      {"fc.weight", values({7, 11}, 0.2).requires_grad_(true)},
      {"fc.bias", values({7}, 0.3).requires_grad_(true)}};
}

/// The gradient of update `step`: depends on the parameter, as a real one does.
inline void set_gradients(const std::vector<NamedParameter>& parameters, int step) {
  for (const auto& [name, p] : parameters) {
    p.mutable_grad() = (p.detach() * 3 + step).cos().mul_(0.5);
  }
}

}  // namespace lockstep::optim
