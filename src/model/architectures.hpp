#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "init.hpp"
#include "lockstep/model/models.hpp"

namespace lockstep::model {

/// What the table of models knows of one of them.
struct ModelEntry {
  std::string_view name;     ///< the word of model.name
  std::string_view summary;  ///< one line for the help
  /// Options are checked and options.width is resolved. Weights come out as zeros, to be set by
  /// initialise().
  std::shared_ptr<Network> (*make)(const ModelOptions& options, comm::Collectives& bn_comm);
  InitRule init;
  std::int64_t default_width;
  /// By how much it shrinks its picture: at least one pixel must be left.
  std::int64_t (*shrinks_by)(const ModelOptions& options);
  /// Those options it has that not every model has ("model.dropout").
  std::vector<std::string_view> options;
};

/// The models, in the order of the help: one line each. X(name) stands for a function
/// `ModelEntry name()`, which the file of the model defines.
#define LOCKSTEP_MODELS(X) \
  X(simple_cnn)            \
  X(cifar_cnn)             \
  X(resnet18)              \
  X(resnet34)              \
  X(resnet50)              \
  X(resnet20)              \
  X(resnet56)              \
  X(wide_resnet28_10)      \
  X(vit_tiny)

#define LOCKSTEP_DECLARE_MODEL(name) ModelEntry name();
LOCKSTEP_MODELS(LOCKSTEP_DECLARE_MODEL)
#undef LOCKSTEP_DECLARE_MODEL

}  // namespace lockstep::model
