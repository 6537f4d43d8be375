#pragma once

#include <string>

#include "lockstep/train/safetensors.hpp"

namespace lockstep::train {

/// Weights of a network, by name.
struct WeightsFile {
  NamedTensors tensors;
  std::string note;  ///< what was done to find them ("entry 'model'"), for the log; mostly empty
};

/// Reads the weights of a checkpoint of this program (its folder, or a pointer such as best, as
/// load_checkpoint does), in a file of safetensors, or of a state dict that torch.save wrote, in
/// both of its formats and without running any of its pickles; contents decide which it is. A
/// checkpoint's dict may hold the state dict in one of its entries. Where all names begin with
/// "module." (DataParallel) or "_orig_mod." (torch.compile), they are taken without. Throws Error
/// naming the file.
[[nodiscard]] WeightsFile read_weights(const std::string& file);

}  // namespace lockstep::train
