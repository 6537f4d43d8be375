#include "lockstep/model/models.hpp"

#include <ATen/ops/ones.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "architectures.hpp"
#include "init.hpp"
#include "lockstep/base/check.hpp"

namespace lockstep::model {
namespace {

const std::vector<ModelEntry>& model_table() {
#define LOCKSTEP_ENTRY_OF(name) name(),
  static const std::vector<ModelEntry> table{LOCKSTEP_MODELS(LOCKSTEP_ENTRY_OF)};
#undef LOCKSTEP_ENTRY_OF
  return table;
}

/// Options that not every model has.
struct Optional {
  std::string_view key;
  std::string_view missing;  ///< what a model without it says
  bool (*given)(const ModelOptions&);
};

const std::array<Optional, 3> kOptional{{
    {"model.dropout", "it has no dropout layer",
     [](const ModelOptions& options) { return options.dropout != ModelOptions{}.dropout; }},
    {"model.bn_momentum", "it has no BatchNorm layer",
     [](const ModelOptions& options) { return options.bn_momentum != ModelOptions{}.bn_momentum; }},
    {"model.stem", "its first layer is fixed",
     [](const ModelOptions& options) { return options.stem != ModelOptions{}.stem; }},
}};

struct InitEntry {
  std::string_view name;
  std::string_view summary;
  WeightInit weights;
};

constexpr std::string_view kOwnInit = "model";
constexpr std::array<InitEntry, 3> kInits{{
    {"kaiming_fan_in", "normal, by the inputs of a unit (He et al. 2015)",
     WeightInit::kKaimingFanIn},
    {"kaiming_fan_out", "normal, by the outputs of a unit", WeightInit::kKaimingFanOut},
    {"xavier", "uniform, by both (Glorot, Bengio 2010)", WeightInit::kXavier},
}};

std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }

// "did you mean X?", or all candidates when none is near.
std::string hint_for(std::string_view word, const std::vector<Choice>& choices) {
  const std::vector<std::string> names = choice_names(choices);
  const std::string nearest = nearest_name(word, names);
  if (!nearest.empty()) return "did you mean " + in_quotes(nearest) + "?";
  std::string all = "choose one of";
  for (const std::string& name : names) all += " " + name;
  return all;
}

const ModelEntry& find_model(const std::string& name) {
  for (const auto& entry : model_table()) {
    if (entry.name == name) return entry;
  }
  throw UsageError("unknown model " + in_quotes(name), "it is not in the table of models",
                   hint_for(name, model_list()));
}

InitRule find_init(const std::string& name, const InitRule& of_model) {
  if (name == kOwnInit) return of_model;
  for (const auto& entry : kInits) {
    if (entry.name == name) return {entry.weights, entry.weights, BiasInit::kZero};
  }
  throw UsageError("unknown model.init " + in_quotes(name), "no such initialisation",
                   hint_for(name, init_list()));
}

void check_options(const ModelOptions& options, const ModelEntry& entry) {
  for (const Optional& option : kOptional) {
    const bool has =
        std::find(entry.options.begin(), entry.options.end(), option.key) != entry.options.end();
    if (!has && option.given(options)) {
      throw UsageError(
          "model.name=" + std::string(entry.name) + " has no option " + std::string(option.key),
          option.missing, "leave it at its default or choose another model");
    }
  }
  const std::vector<std::string> stems = choice_names(stem_list());
  if (std::find(stems.begin(), stems.end(), options.stem) == stems.end()) {
    throw UsageError("unknown model.stem " + in_quotes(options.stem), "no such first layer",
                     hint_for(options.stem, stem_list()));
  }
  if (options.classes < 1 || options.width < 0 || options.bn_momentum < 0 ||
      options.bn_momentum > 1) {
    throw UsageError("impossible model options",
                     "classes=" + std::to_string(options.classes) +
                         " width=" + std::to_string(options.width) +
                         " bn_momentum=" + std::to_string(options.bn_momentum),
                     "classes from 1, width from 0, bn_momentum in [0, 1]");
  }
  const std::int64_t factor = entry.shrinks_by(options);
  if (options.height < factor || options.width_pixels < factor) {
    throw UsageError("pictures of " + std::to_string(options.height) + " x " +
                         std::to_string(options.width_pixels) + " pixels are too small for " +
                         std::string(entry.name),
                     "it shrinks them by " + std::to_string(factor),
                     "pack them with a larger --size or choose another model");
  }
}

}  // namespace

std::shared_ptr<Network> make_model(const ModelOptions& options,
                                    comm::Collectives& batch_norm_comm) {
  const ModelEntry& entry = find_model(options.name);
  const InitRule rule = find_init(options.init, entry.init);
  check_options(options, entry);
  ModelOptions resolved = options;
  if (resolved.width == 0) resolved.width = entry.default_width;
  std::shared_ptr<Network> network = entry.make(resolved, batch_norm_comm);
  if (options.unused_parameter) network->register_parameter("unused", at::ones({3}));
  initialise(*network, rule, options.seed);
  return network;
}

std::vector<Choice> model_list() {
  std::vector<Choice> list;
  for (const auto& entry : model_table()) {
    Choice choice{std::string(entry.name), std::string(entry.summary)};
    choice.options.assign(entry.options.begin(), entry.options.end());
    list.push_back(std::move(choice));
  }
  return list;
}

std::vector<Choice> init_list() {
  std::vector<Choice> list{{std::string(kOwnInit), "as the network prescribes"}};
  for (const auto& entry : kInits) {
    list.push_back({std::string(entry.name), std::string(entry.summary)});
  }
  return list;
}

std::vector<Choice> stem_list() {
  return {{"cifar", "3x3, for small pictures"}, {"imagenet", "7x7, stride 2, then pooling"}};
}

}  // namespace lockstep::model
