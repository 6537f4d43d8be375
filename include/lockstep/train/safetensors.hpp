#pragma once

#include <torch/types.h>

#include <string>
#include <utility>
#include <vector>

namespace lockstep::train {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// Writes tensors (float32, float64, int64, any strides and device) in the safetensors format:
/// logical order, contiguous, sorted as given. The file is synced to the disk. Throws Error.
void write_safetensors(const std::string& file, const NamedTensors& tensors);

/// Reads all tensors of a safetensors file (floating-point numbers of 16, 32 and 64 bits, integers
/// of 8 to 64), on the CPU. The header is checked against the size of
/// the file before any byte is used. Throws Error naming the file.
[[nodiscard]] NamedTensors read_safetensors(const std::string& file);

}  // namespace lockstep::train
