#include "lockstep/optim/optimizer.hpp"

#include <string_view>

#include "adam.hpp"
#include "lockstep/base/check.hpp"
#include "rmsprop.hpp"
#include "sgd.hpp"

namespace lockstep::optim {
namespace {

void require_value(bool holds, std::string_view key, double value, std::string_view range) {
  if (holds) return;
  throw UsageError(std::string(key) + " cannot be " + std::to_string(value),
                   "impossible optimizer option", "choose " + std::string(range));
}

void require_fraction(std::string_view key, double value) {
  require_value(value >= 0 && value < 1, key, value, "a factor in [0, 1)");
}

void require_eps(const OptimizerOptions& options) {
  require_value(options.eps > 0, "optim.eps", options.eps, "a number above 0");
}

}  // namespace

std::vector<Choice> optimizer_list() {
  return {
      {"sgd", "stochastic gradient descent with momentum", {"optim.momentum", "optim.nesterov"}},
      {"adamw",
       "Adam with decoupled weight decay (Loshchilov, Hutter 2019)",
       {"optim.beta1", "optim.beta2", "optim.eps"}},
      {"adam",
       "Adam, weight decay as an L2 penalty (Kingma, Ba 2015)",
       {"optim.beta1", "optim.beta2", "optim.eps"}},
      {"rmsprop",
       "gradients over the root of their mean square (Hinton 2012), with momentum",
       {"optim.momentum", "optim.alpha", "optim.eps"}}};
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options,
                                          const std::vector<NamedParameter>& parameters) {
  require_value(options.weight_decay >= 0, "optim.weight_decay", options.weight_decay,
                "a number from 0");
  if (options.name == "sgd") {
    require_fraction("optim.momentum", options.momentum);
    if (options.nesterov && options.momentum == 0) {
      throw UsageError("optim.nesterov needs momentum", "optim.momentum is 0",
                       "set optim.momentum=0.9 or leave optim.nesterov off");
    }
    return std::make_unique<Sgd>(options, parameters);
  }
  if (options.name == "adamw" || options.name == "adam") {
    require_fraction("optim.beta1", options.beta1);
    require_fraction("optim.beta2", options.beta2);
    require_eps(options);
    return std::make_unique<Adam>(options, parameters,
                                  options.name == "adam" ? Decay::kPenalty : Decay::kDecoupled);
  }
  if (options.name == "rmsprop") {
    require_fraction("optim.momentum", options.momentum);
    require_fraction("optim.alpha", options.alpha);
    require_eps(options);
    return std::make_unique<RmsProp>(options, parameters);
  }
  const std::string nearest = nearest_name(options.name, choice_names(optimizer_list()));
  throw UsageError("unknown optim.name \"" + options.name + "\"", "no such optimizer",
                   nearest.empty() ? "choose one of sgd adamw adam rmsprop"
                                   : "did you mean \"" + nearest + "\"?");
}

}  // namespace lockstep::optim
