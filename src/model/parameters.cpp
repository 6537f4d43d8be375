#include <ATen/core/Tensor.h>

#include <sstream>

#include "lockstep/base/check.hpp"
#include "lockstep/base/name_prefixes.hpp"
#include "lockstep/model/models.hpp"

namespace lockstep::model {
namespace {

std::string megabytes(std::int64_t bytes) {
  std::ostringstream text;
  text.precision(2);
  text << std::fixed << static_cast<double>(bytes) / (1 << 20) << " MiB";
  return text.str();
}

}  // namespace

std::int64_t freeze(Network& network, const std::string& prefixes) {
  auto parameters = network.named_parameters();
  std::int64_t frozen = 0;
  for (const auto& prefix : split_at_commas(prefixes)) {
    bool matched = false;
    for (auto& item : parameters) {
      if (!item.key().starts_with(prefix)) continue;
      matched = true;
      if (item.value().requires_grad()) ++frozen;
      item.value().set_requires_grad(false);
    }
    if (!matched) {
      throw UsageError("model.freeze: no parameter starts with \"" + prefix + "\"",
                       "a typing mistake would train what was meant to stay",
                       prefix_hint(prefix, parameters.keys()));
    }
  }
  for (const auto& item : parameters) {
    if (item.value().requires_grad()) return frozen;
  }
  throw UsageError("model.freeze=" + prefixes + " leaves nothing to train",
                   "it matches all parameters", "freeze less");
}

std::string model_summary(const Network& network, std::int64_t state_tensors) {
  std::int64_t parameters = 0, trainable = 0, buffers = 0;
  std::int64_t weight_bytes = 0, gradient_bytes = 0;
  for (const auto& parameter : network.parameters()) {
    parameters += parameter.numel();
    weight_bytes += static_cast<std::int64_t>(parameter.nbytes());
    if (!parameter.requires_grad()) continue;
    trainable += parameter.numel();
    gradient_bytes += static_cast<std::int64_t>(parameter.nbytes());
  }
  for (const auto& buffer : network.buffers()) {
    buffers += buffer.numel();
    weight_bytes += static_cast<std::int64_t>(buffer.nbytes());
  }
  const std::int64_t state_bytes = gradient_bytes * state_tensors;
  std::ostringstream text;
  text << "parameters " << parameters << ", trainable " << trainable << ", buffer elements "
       << buffers << "\n"
       << "memory per rank: weights and buffers " << megabytes(weight_bytes) << ", gradients "
       << megabytes(gradient_bytes) << ", optimizer state " << megabytes(state_bytes);
  return text.str();
}

}  // namespace lockstep::model
