#include <ATen/ops/empty.h>
#include <torch/types.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lockstep/base/check.hpp"
#include "lockstep/train/checkpoint.hpp"
#include "lockstep/train/durable_file.hpp"
#include "manifest.hpp"
#include "training_state.hpp"

namespace lockstep::train {
namespace fs = std::filesystem;
namespace {

/// The folder that a checkpoint path stands for; a pointer file is followed and its digest checked.
std::string resolve(const std::string& path) {
  if (fs::is_directory(path)) {
    for (const char* inside : {"/checkpoints/best", "/best"}) {
      if (!fs::exists(path + "/" + kManifestFile) && fs::exists(path + inside)) {
        throw UsageError("'" + path + "' is no checkpoint", "it holds those of a run",
                         "did you mean " + path + inside + "?");
      }
    }
    return path;
  }
  if (!fs::exists(path)) {
    throw UsageError("there is no checkpoint '" + path + "'", "the path does not exist",
                     "give a folder such as runs/NAME/checkpoints/epoch-..., or the file best or "
                     "latest beside them");
  }
  const auto json = nlohmann::json::parse(read_file(path), nullptr, false);
  if (!json.is_object() || !json.contains("checkpoint") || !json["checkpoint"].is_string()) {
    throw UsageError("'" + path + "' is no checkpoint", "it is neither a folder nor a pointer file",
                     "give a checkpoint folder, or the file best or latest beside them");
  }
  const auto name = json["checkpoint"].get<std::string>();
  std::string folder = (fs::path(path).parent_path() / name).string();
  if (name.empty() || name == ".." || name.find('/') != std::string::npos) {
    throw Error("pointer '" + path + "' is damaged",
                "'" + name + "' is no name of a folder beside it",
                "name the checkpoint folder itself");
  }
  const std::string manifest = read_file(folder + "/" + kManifestFile);
  const auto digest = json.find("manifest_xxh3_128");
  if (digest == json.end() || *digest != xxh3_128(manifest.data(), manifest.size())) {
    throw Error("checkpoint '" + folder + "' is not the one that '" + path + "' was written for",
                "the digest of its manifest differs", "name the checkpoint folder itself");
  }
  return folder;
}

void broadcast_tensors(comm::Collectives& control, NamedTensors& tensors) {
  nlohmann::json layout = nlohmann::json::array();
  for (const auto& [name, tensor] : tensors) {
    layout.push_back({name, static_cast<int>(tensor.scalar_type()), tensor.sizes().vec()});
  }
  const auto all = nlohmann::json::parse(control.broadcast(layout.dump()));
  if (!control.world().is_root()) {
    for (const auto& entry : all) {
      tensors.emplace_back(entry[0].get<std::string>(),
                           at::empty(entry[2].get<std::vector<std::int64_t>>(),
                                     static_cast<at::ScalarType>(entry[1].get<int>())));
    }
  }
  for (auto& [name, tensor] : tensors) {
    control.broadcast(tensor.mutable_data_ptr(), tensor.nbytes(), comm::DataType::kByte, 0);
  }
}

}  // namespace

LoadedCheckpoint load_checkpoint(const std::string& path) {
  LoadedCheckpoint loaded;
  loaded.folder = resolve(path);
  check_manifest(loaded.folder,
                 {"model.safetensors", "optimizer.safetensors", "state.json", "config.cfg"});
  loaded.config_text = read_file(loaded.folder + "/config.cfg");
  const std::string state_file = loaded.folder + "/state.json";
  loaded.state = state_from_json(read_file(state_file), state_file);
  loaded.model = read_safetensors(loaded.folder + "/model.safetensors");
  return loaded;
}

LoadedCheckpoint load_checkpoint_everywhere(comm::Collectives& control, const std::string& path) {
  LoadedCheckpoint loaded;
  std::string state_text;
  comm::agreed_phase(control, [&] {
    if (control.world().is_root()) {
      loaded = load_checkpoint(path);
      state_text = state_to_json(loaded.state);
    }
  });
  loaded.folder = control.broadcast(loaded.folder);
  loaded.config_text = control.broadcast(loaded.config_text);
  state_text = control.broadcast(state_text);
  loaded.state = state_from_json(state_text, loaded.folder + "/state.json");
  broadcast_tensors(control, loaded.model);
  return loaded;
}

NamedTensors state_of(const model::Network& network) {
  NamedTensors tensors;
  for (const auto& item : network.named_parameters()) {
    tensors.emplace_back(item.key(), item.value());
  }
  for (const auto& item : network.named_buffers()) {
    tensors.emplace_back(item.key(), item.value());
  }
  return tensors;
}

void copy_state(model::Network& network, const NamedTensors& tensors) {
  const torch::NoGradGuard no_grad;
  std::map<std::string, at::Tensor> given(tensors.begin(), tensors.end());
  std::ostringstream wrong;
  int count = 0;
  const auto note = [&](const std::string& text) {
    constexpr int kShown = 5;
    if (count++ < kShown) {
      wrong << (count > 1 ? "; " : "") << text;
    }
  };
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;  // made when all of them fit
  for (auto& [name, target] : state_of(network)) {
    const auto found = given.find(name);
    if (found == given.end()) {
      note(name + " is missing");
    } else if (found->second.sizes() != target.sizes()) {
      std::ostringstream sizes;
      sizes << name << " has shape " << found->second.sizes() << ", the network " << target.sizes();
      note(sizes.str());
    } else {
      copies.emplace_back(target, found->second);
    }
    given.erase(name);
  }
  for (const auto& [name, tensor] : given) {
    note(name + " is not in the network");
  }
  if (count > 0) {
    throw Error("the weights do not fit the network",
                std::to_string(count) + " mismatches: " + wrong.str(),
                "use the config that the checkpoint was trained with");
  }
  for (auto& [target, source] : copies) {
    target.copy_(source);
  }
}

std::string state_digest(const model::Network& network) {
  std::string digests;
  for (const auto& [name, tensor] : state_of(network)) {
    const at::Tensor plain = tensor.detach().cpu().contiguous();
    digests += name + xxh3_128(plain.const_data_ptr(), plain.nbytes());
  }
  return xxh3_128(digests.data(), digests.size());
}

}  // namespace lockstep::train
