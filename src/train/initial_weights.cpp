#include "lockstep/train/initial_weights.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "broadcast_tensors.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/train/checkpoint.hpp"

namespace lockstep::train {
namespace {

constexpr std::size_t kShown = 8;  // names in a message

std::string shown(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i > 0 ? ", " : "") + names[i];
  }
  return text + (names.size() > kShown ? ", ..." : "");
}

std::string counted(const std::vector<std::string>& names, const std::string& what) {
  return std::to_string(names.size()) + " " + what + ": " + shown(names);
}

/// Whether the two differ in the number of outputs alone, and the network's is that of its classes.
bool is_head(const at::Tensor& own, const at::Tensor& given, std::int64_t classes) {
  return own.dim() > 0 && own.dim() == given.dim() && own.size(0) == classes &&
         given.size(0) != classes && own.sizes().slice(1) == given.sizes().slice(1);
}

[[noreturn]] void refuse_shape(const std::string& name, const at::Tensor& own,
                               const at::Tensor& given) {
  std::ostringstream why;
  why << name << " has shape " << given.sizes() << " in the file, " << own.sizes()
      << " in the network";
  throw UsageError("model.weights does not fit the model", why.str(),
                   "choose the model that the weights belong to (model.name, model.width, "
                   "model.stem), and pictures of the size it was trained on");
}

void refuse_values(const std::string& name, const at::Tensor& own, const at::Tensor& given) {
  if (!own.is_floating_point()) {
    return;
  }
  const bool numbers = given.is_floating_point();
  if (!numbers || !at::isfinite(given).all().item<bool>()) {
    throw UsageError("model.weights cannot be used",
                     name + (numbers ? " has values that are not finite"
                                     : " has integers (quantised weights need their scales)"),
                     "give weights in floating point of a training that did not diverge");
  }
}

}  // namespace

WeightsMatch load_weights(model::Network& network, const NamedTensors& tensors,
                          std::int64_t classes, bool strict) {
  WeightsMatch match;
  std::map<std::string, at::Tensor> given(tensors.begin(), tensors.end());
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;  // made when all is well
  for (const auto& [name, own] : state_of(network)) {
    const auto found = given.find(name);
    if (found == given.end()) {
      if (!name.ends_with("num_batches_tracked")) {
        match.missing.push_back(name);
      }
      continue;
    }
    refuse_values(name, own, found->second);
    if (found->second.sizes() == own.sizes()) {
      copies.emplace_back(own, found->second);
      match.matched.push_back(name);
    } else if (is_head(own, found->second, classes)) {
      match.replaced.push_back(name);
    } else {
      refuse_shape(name, own, found->second);
    }
    given.erase(found);
  }
  for (const auto& [name, tensor] : given) {
    match.unexpected.push_back(name);
  }
  if (match.matched.empty()) {
    throw UsageError("model.weights does not fit the model", "no name of the file is in it",
                     "choose the model that the weights belong to");
  }
  if (strict && !(match.missing.empty() && match.unexpected.empty())) {
    throw UsageError("model.weights does not fit the model",
                     counted(match.missing, "missing in the file") + "; " +
                         counted(match.unexpected, "unknown to the model"),
                     "choose the model that they belong to, or set model.weights_strict=false");
  }
  const torch::NoGradGuard no_grad;
  for (const auto& [own, source] : copies) {
    own.copy_(source);
  }
  return match;
}

std::string match_text(const WeightsMatch& match) {
  std::string text = std::to_string(match.matched.size()) + " tensors taken";
  const auto add = [&](const std::vector<std::string>& names, const std::string& what) {
    if (!names.empty()) {
      text += "; " + counted(names, what);
    }
  };
  add(match.replaced, "begin anew for the number of classes");
  add(match.missing, "missing in the file, begin anew");
  add(match.unexpected, "unknown to the model, left out");
  return text;
}

WeightsFile read_weights_everywhere(comm::Collectives& control, const std::string& file) {
  WeightsFile weights;
  comm::agreed_phase(control, [&] {
    if (control.world().is_root()) {
      weights = read_weights(file);
    }
  });
  broadcast_tensors(control, weights.tensors);
  return weights;
}

}  // namespace lockstep::train
