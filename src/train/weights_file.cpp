#include "lockstep/train/weights_file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "lockstep/base/check.hpp"
#include "lockstep/base/utf8.hpp"
#include "lockstep/train/checkpoint.hpp"
#include "manifest.hpp"
#include "torch_file.hpp"

namespace lockstep::train {
namespace {

/// What wrappers of a network put before each name.
constexpr std::array<std::string_view, 2> kWrappers{"module.", "_orig_mod."};

void add_note(std::string& note, const std::string& text) {
  note += (note.empty() ? "" : "; ") + text;
}

std::string head_of(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    throw Error("cannot read '" + file + "'", error ? error.message() : "it is not a file",
                "give a file of weights");
  }
  std::ifstream in(file, std::ios::binary);
  std::string head(kTorchHead, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  if (in.bad() || !in.is_open()) {
    throw Error("cannot read '" + file + "'", errno_text(), "give a file of weights");
  }
  head.resize(static_cast<std::size_t>(in.gcount()));
  return head;
}

/// Whether a header of JSON follows the 8 bytes of its length.
bool is_safetensors(std::string_view head) {
  constexpr std::size_t kLength = 8;
  return head.size() > kLength && head[kLength] == '{';
}

WeightsFile from_torch(TorchWeights weights) {
  WeightsFile result{std::move(weights.tensors), {}};
  if (!weights.entry.empty()) {
    add_note(result.note, "entry '" + escaped(weights.entry) + "' of it");
  }
  return result;
}

/// A folder, or a pointer to one: a checkpoint of this program.
bool is_checkpoint(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error) || is_pointer(path);
}

WeightsFile read_any(const std::string& file) {
  if (is_checkpoint(file)) {
    LoadedCheckpoint checkpoint = load_checkpoint(file);
    return {std::move(checkpoint.model), "checkpoint '" + checkpoint.folder + "'"};
  }
  const std::string head = head_of(file);
  if (is_torch_zip(head)) {
    return from_torch(read_torch_zip(file));
  }
  if (is_torch_legacy(head)) {
    return from_torch(read_torch_legacy(file));
  }
  if (!is_safetensors(head)) {
    throw Error("cannot read '" + file + "'",
                "it is neither a file of safetensors nor one of torch.save",
                "give one of them, or download it again");
  }
  return {read_safetensors(file), {}};
}

bool all_begin_with(const NamedTensors& tensors, std::string_view prefix) {
  return !tensors.empty() && std::all_of(tensors.begin(), tensors.end(), [&](const auto& entry) {
    return entry.first.starts_with(prefix) && entry.first.size() > prefix.size();
  });
}

}  // namespace

WeightsFile read_weights(const std::string& file) {
  WeightsFile weights = read_any(file);
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view wrapper : kWrappers) {
      if (all_begin_with(weights.tensors, wrapper)) {
        for (auto& [name, tensor] : weights.tensors) {
          name.erase(0, wrapper.size());
        }
        add_note(weights.note, "names without '" + std::string(wrapper) + "'");
        again = true;
      }
    }
  }
  return weights;
}

}  // namespace lockstep::train
