#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>

namespace lockstep::model {

enum class Phase { kTrain, kEvaluate, kRecompute };

/// What a forward pass may depend on besides its input and the weights. Carried through the network
/// so that no module hides state.
struct StepContext {
  Phase phase = Phase::kEvaluate;
  std::uint64_t seed = 0;
  std::int64_t update = 0;                   ///< update counter of the run
  const std::int64_t* sample_ids = nullptr;  ///< one per row of the input (kTrain)
  [[nodiscard]] bool training() const noexcept { return phase != Phase::kEvaluate; }
};

/// A network: [n, 3, H, W] -> logits [n, classes]; n may be 0. Parameter and buffer names are
/// torchvision's where the model is torchvision's.
class Network : public torch::nn::Module {
 public:
  using torch::nn::Module::Module;
  virtual at::Tensor forward(at::Tensor x, const StepContext& context) = 0;
};

}  // namespace lockstep::model
