#pragma once

#include <string>

#include "lockstep/train/checkpoint.hpp"

namespace lockstep::train {

/// Name, in optimizer.safetensors, of the count of steps; all others have a dot.
inline constexpr const char* kStepsName = "steps";

[[nodiscard]] std::string state_to_json(const TrainingState& state);
/// Throws Error naming `source` when a field is missing or of the wrong type.
[[nodiscard]] TrainingState state_from_json(const std::string& text, const std::string& source);

}  // namespace lockstep::train
