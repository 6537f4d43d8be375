#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "lockstep/train/safetensors.hpp"
#include "torch_state_dict.hpp"

namespace lockstep::train {

/// The tensors of a file of torch.save, on the CPU, in logical order.
struct TorchWeights {
  NamedTensors tensors;
  std::string entry;  ///< of a checkpoint's dict, under which they were; empty: none
};

/// Whether a file that begins so is one of torch.save: a zip archive (since PyTorch 1.6), or
/// pickles and storages in a row.
[[nodiscard]] bool is_torch_zip(std::string_view head);
[[nodiscard]] bool is_torch_legacy(std::string_view head);

/// How many bytes of a file these two look at.
inline constexpr std::size_t kTorchHead = 64;

/// Read such a file, without running anything of it. What cannot be used is an Error that names
/// the file: damage (checksums of the zip archive too), another byte order, names in the pickle
/// that a state dict has not, tensors that do not fit.
[[nodiscard]] TorchWeights read_torch_zip(const std::string& file);
[[nodiscard]] TorchWeights read_torch_legacy(const std::string& file);

/// Storages that were read, each flat, by key.
using LoadedStorages = std::map<std::string, at::Tensor>;

/// The tensors of a state dict whose storages were read.
[[nodiscard]] TorchWeights make_weights(const TorchStateDict& dict, const LoadedStorages& storages);

/// The keys of the storages that the tensors lie in.
[[nodiscard]] std::set<std::string> needed_storages(const TorchStateDict& dict);

/// Throws Error: the file ends early, or its bytes are not what was written.
[[noreturn]] void damaged_torch_file(const std::string& file, const std::string& why);

}  // namespace lockstep::train
