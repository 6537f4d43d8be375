#include "torch_file.hpp"

#include <bit>

#include "lockstep/base/check.hpp"

namespace lockstep::train {

static_assert(std::endian::native == std::endian::little, "storages are read as they are");

TorchWeights make_weights(const TorchStateDict& dict, const LoadedStorages& storages) {
  TorchWeights weights{{}, dict.entry};
  for (const TorchView& view : dict.tensors) {
    at::Tensor flat = storages.at(view.storage);
    if (flat.scalar_type() == at::kBool) {
      flat = flat.view(at::kByte).ne(0);  // other bytes than 0 and 1 are no bool of C++
    }
    weights.tensors.emplace_back(
        view.name, flat.as_strided(view.sizes, view.strides, view.offset).contiguous());
  }
  return weights;
}

std::set<std::string> needed_storages(const TorchStateDict& dict) {
  std::set<std::string> keys;
  for (const TorchView& view : dict.tensors) {
    keys.insert(view.storage);
  }
  return keys;
}

void damaged_torch_file(const std::string& file, const std::string& why) {
  throw Error("cannot read '" + file + "'", why, "copy or download it again");
}

}  // namespace lockstep::train
