#include <torch/types.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>

#include "broadcast_tensors.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/durable_file.hpp"
#include "lockstep/train/checkpoint.hpp"
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
  const std::optional<Pointer> pointer = read_pointer(path);
  if (!pointer) {
    throw UsageError("'" + path + "' is no checkpoint", "it is neither a folder nor a pointer file",
                     "give a checkpoint folder, or the file best or latest beside them");
  }
  const std::string& name = pointer->name;
  std::string folder = (fs::path(path).parent_path() / name).string();
  if (name.empty() || name == ".." || name.find('/') != std::string::npos) {
    throw Error("pointer '" + path + "' is damaged",
                "'" + name + "' is no name of a folder beside it",
                "name the checkpoint folder itself");
  }
  const std::string manifest = read_file(folder + "/" + kManifestFile);
  if (pointer->manifest_digest != xxh3_128(manifest.data(), manifest.size())) {
    throw Error("checkpoint '" + folder + "' is not the one that '" + path + "' was written for",
                "the digest of its manifest differs", "name the checkpoint folder itself");
  }
  return folder;
}

/// Reads what CheckpointStore::save has written: the optimizer's tensors and, last, its steps.
void read_optimizer(LoadedCheckpoint& loaded) {
  const std::string file = loaded.folder + "/optimizer.safetensors";
  loaded.optimizer = read_safetensors(file);
  const auto steps = std::find_if(loaded.optimizer.begin(), loaded.optimizer.end(),
                                  [](const auto& entry) { return entry.first == kStepsName; });
  if (steps == loaded.optimizer.end() || steps->second.scalar_type() != at::kLong ||
      steps->second.numel() != 1) {
    throw Error("cannot use '" + file + "'", "it does not say how many steps were done",
                "use a checkpoint written by this program");
  }
  loaded.optimizer_steps = steps->second.item<std::int64_t>();
  loaded.optimizer.erase(steps);
}

}  // namespace

bool is_checkpoint_file(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return fs::exists(folder / kManifestFile) || is_pointer(path);
}

LoadedCheckpoint load_checkpoint(const std::string& path, LoadParts parts) {
  LoadedCheckpoint loaded;
  loaded.folder = resolve(path);
  check_manifest(loaded.folder,
                 {"model.safetensors", "optimizer.safetensors", "state.json", "config.cfg"});
  loaded.config_text = read_file(loaded.folder + "/config.cfg");
  const std::string state_file = loaded.folder + "/state.json";
  loaded.state = state_from_json(read_file(state_file), state_file);
  loaded.model = read_safetensors(loaded.folder + "/model.safetensors");
  if (parts == LoadParts::kAll) {
    read_optimizer(loaded);
  }
  return loaded;
}

std::optional<LoadedCheckpoint> load_newest(const CheckpointStore& store,
                                            std::vector<std::string>& warnings) {
  std::string failure;
  for (const std::string& name : store.newest_first()) {
    try {
      return load_checkpoint(store.path_of(name), LoadParts::kAll);
    } catch (const Error& error) {
      failure = error.what();
      warnings.push_back("checkpoint " + name + " cannot be used: " + failure);
    }
  }
  if (!failure.empty()) {
    throw Error("no checkpoint of this run can be used",
                "the oldest one: " + failure.substr(0, failure.rfind(" - ")),
                "mend it, or begin again under another run.name");
  }
  return std::nullopt;
}

void broadcast_checkpoint(comm::Collectives& control, LoadedCheckpoint& loaded) {
  loaded.folder = control.broadcast(loaded.folder);
  loaded.config_text = control.broadcast(loaded.config_text);
  const std::string state_text =
      control.broadcast(control.world().is_root() ? state_to_json(loaded.state) : std::string());
  loaded.state = state_from_json(state_text, loaded.folder + "/state.json");
  loaded.optimizer_steps = control.max(loaded.optimizer_steps);  // 0 on the others
  broadcast_tensors(control, loaded.model);
  broadcast_tensors(control, loaded.optimizer);
}

LoadedCheckpoint load_checkpoint_everywhere(comm::Collectives& control, const std::string& path,
                                            LoadParts parts) {
  LoadedCheckpoint loaded;
  comm::agreed_phase(control, [&] {
    if (control.world().is_root()) {
      loaded = load_checkpoint(path, parts);
    }
  });
  broadcast_checkpoint(control, loaded);
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
