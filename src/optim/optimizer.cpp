#include "lockstep/optim/optimizer.hpp"

#include <string_view>

#include "adamw.hpp"
#include "lockstep/base/check.hpp"
#include "sgd.hpp"

namespace lockstep::optim {
namespace {

void require_value(bool holds, std::string_view key, double value, std::string_view range) {
  if (holds) return;
  throw UsageError(std::string(key) + " cannot be " + std::to_string(value),
                   "impossible optimizer option", "choose " + std::string(range));
}

}  // namespace

std::vector<Choice> optimizer_list() {
  return {
      {"sgd", "stochastic gradient descent with momentum", {"optim.momentum", "optim.nesterov"}},
      {"adamw",
       "Adam with decoupled weight decay (Loshchilov, Hutter 2019)",
       {"optim.beta1", "optim.beta2", "optim.eps"}}};
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options,
                                          const std::vector<NamedParameter>& parameters) {
  require_value(options.weight_decay >= 0, "optim.weight_decay", options.weight_decay,
                "a number from 0");
  if (options.name == "sgd") {
    require_value(options.momentum >= 0 && options.momentum < 1, "optim.momentum", options.momentum,
                  "a factor in [0, 1)");
    if (options.nesterov && options.momentum == 0) {
      throw UsageError("optim.nesterov needs momentum", "optim.momentum is 0",
                       "set optim.momentum=0.9 or leave optim.nesterov off");
    }
    return std::make_unique<Sgd>(options, parameters);
  }
  if (options.name == "adamw") {
    require_value(options.beta1 >= 0 && options.beta1 < 1, "optim.beta1", options.beta1,
                  "a factor in [0, 1)");
    require_value(options.beta2 >= 0 && options.beta2 < 1, "optim.beta2", options.beta2,
                  "a factor in [0, 1)");
    require_value(options.eps > 0, "optim.eps", options.eps, "a number above 0");
    return std::make_unique<AdamW>(options, parameters);
  }
  const std::string nearest = nearest_name(options.name, choice_names(optimizer_list()));
  throw UsageError("unknown optim.name \"" + options.name + "\"", "no such optimizer",
                   nearest.empty() ? "choose sgd or adamw" : "did you mean \"" + nearest + "\"?");
}

}  // namespace lockstep::optim
