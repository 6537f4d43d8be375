#pragma once

#include <torch/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lockstep/base/restricted_pickle.hpp"

namespace lockstep::train {

/// Elements that lie in a file of torch.save, in a row.
struct TorchStorage {
  at::ScalarType type = at::kFloat;
  std::int64_t elements = 0;
  [[nodiscard]] std::int64_t bytes() const {
    return elements * static_cast<std::int64_t>(c10::elementSize(type));
  }
};

/// A tensor as a part of a storage. Offset and strides count elements.
struct TorchView {
  std::string name;
  std::string storage;
  std::int64_t offset = 0;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
};

/// What the pickle of a state dict says.
struct TorchStateDict {
  std::map<std::string, TorchStorage> storages;  ///< by key, all that the file refers to
  std::vector<TorchView> tensors;                ///< each inside its storage
  std::string entry;  ///< of a checkpoint's dict, under which the tensors were; empty: none
};

/// The names that a pickle of a state dict may mention.
[[nodiscard]] const PickleRules& torch_rules();

/// The state dict that a pickle of torch.save is of: a dict of tensors, or a dict (a checkpoint's)
/// in which one entry is such a dict; of several, the one that is named as the weights are.
/// Throws Error on anything else, on a type of numbers that is not read here, and on a tensor that
/// reaches beyond its storage.
[[nodiscard]] TorchStateDict read_state_dict(const Pickle& pickle);

/// Throws Error: the file is of the right kind but cannot be used; `why` says what is wrong.
[[noreturn]] void refuse_torch_file(const std::string& file, const std::string& why);

}  // namespace lockstep::train
