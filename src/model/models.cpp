#include "lockstep/model/models.hpp"

#include <ATen/ops/ones.h>

#include <array>
#include <string_view>

#include "architectures.hpp"
#include "init.hpp"
#include "lockstep/base/check.hpp"

namespace lockstep::model {
namespace {

struct TableEntry {
  std::string_view name;
  std::string_view summary;
  std::shared_ptr<Network> (*make)(const ModelOptions&, comm::Collectives&);
  InitRule init;
  std::int64_t default_width;
  bool has_dropout;
  bool has_batch_norm;
  bool has_stem;
};

constexpr std::array<TableEntry, 3> kModels{{
    {"simple_cnn",
     "2 convolutions (32, 64), pooling, dropout, 2 linear layers; no BatchNorm",
     &make_simple_cnn,
     {WeightInit::kUniformFanIn, WeightInit::kUniformFanIn, BiasInit::kUniformFanIn},
     32,
     true,
     false,
     false},
    {"cifar_cnn",
     "4 convolutions (32, 32, 64, 64) with BatchNorm, 2 linear layers",
     &make_cifar_cnn,
     {WeightInit::kKaimingFanOut, WeightInit::kNormal001, BiasInit::kZero},
     32,
     true,
     true,
     false},
    {"resnet18",
     "ResNet-18 with torchvision's names; model.stem fits it to small pictures",
     &make_resnet18,
     {WeightInit::kKaimingFanOut, WeightInit::kUniformFanIn, BiasInit::kUniformFanIn},
     64,
     false,
     true,
     true},
}};

constexpr std::array<std::pair<std::string_view, WeightInit>, 3> kInits{{
    {"kaiming_fan_in", WeightInit::kKaimingFanIn},
    {"kaiming_fan_out", WeightInit::kKaimingFanOut},
    {"xavier", WeightInit::kXavier},
}};

std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }

// "did you mean X?", or all candidates when none is near.
std::string hint_for(std::string_view word, const std::vector<std::string_view>& candidates) {
  const std::string nearest = nearest_name(word, candidates);
  if (!nearest.empty()) return "did you mean " + in_quotes(nearest) + "?";
  std::string all = "choose one of";
  for (const auto candidate : candidates) all += " " + std::string(candidate);
  return all;
}

const TableEntry& find_model(const std::string& name) {
  std::vector<std::string_view> names;
  for (const auto& entry : kModels) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw UsageError("unknown model " + in_quotes(name), "it is not in the table of models",
                   hint_for(name, names));
}

InitRule find_init(const std::string& name, const InitRule& of_model) {
  if (name == "model") return of_model;
  std::vector<std::string_view> names{"model"};
  for (const auto& [key, weights] : kInits) {
    if (key == name) return {weights, weights, BiasInit::kZero};
    names.push_back(key);
  }
  throw UsageError("unknown model.init " + in_quotes(name), "no such initialisation",
                   hint_for(name, names));
}

void require_option(bool holds, std::string_view option, std::string_view model,
                    std::string_view why) {
  if (holds) return;
  throw UsageError("model.name=" + std::string(model) + " has no option " + std::string(option),
                   why, "leave it at its default or choose another model");
}

void check_options(const ModelOptions& options, const TableEntry& entry) {
  const ModelOptions defaults;
  require_option(entry.has_dropout || options.dropout == 0, "model.dropout", entry.name,
                 "it has no dropout layer");
  require_option(entry.has_batch_norm || options.bn_momentum == defaults.bn_momentum,
                 "model.bn_momentum", entry.name, "it has no BatchNorm layer");
  require_option(entry.has_stem || options.stem == defaults.stem, "model.stem", entry.name,
                 "its first layer is fixed");
  if (options.stem != "cifar" && options.stem != "imagenet") {
    throw UsageError("unknown model.stem " + in_quotes(options.stem), "no such first layer",
                     hint_for(options.stem, {"cifar", "imagenet"}));
  }
  if (options.classes < 1 || options.width < 0 || options.bn_momentum < 0 ||
      options.bn_momentum > 1) {
    throw UsageError("impossible model options",
                     "classes=" + std::to_string(options.classes) +
                         " width=" + std::to_string(options.width) +
                         " bn_momentum=" + std::to_string(options.bn_momentum),
                     "classes from 1, width from 0, bn_momentum in [0, 1]");
  }
  // The factor by which a model shrinks its picture: at least one pixel must be left.
  const std::int64_t factor = !entry.has_stem ? 4 : options.stem == "imagenet" ? 32 : 8;
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
  const TableEntry& entry = find_model(options.name);
  const InitRule rule = find_init(options.init, entry.init);
  check_options(options, entry);
  ModelOptions resolved = options;
  if (resolved.width == 0) resolved.width = entry.default_width;
  std::shared_ptr<Network> network = entry.make(resolved, batch_norm_comm);
  if (options.unused_parameter) network->register_parameter("unused", at::ones({3}));
  initialise(*network, rule, options.seed);
  return network;
}

std::vector<ModelEntry> model_list() {
  std::vector<ModelEntry> list;
  for (const auto& entry : kModels) {
    list.push_back({std::string(entry.name), std::string(entry.summary)});
  }
  return list;
}

}  // namespace lockstep::model
