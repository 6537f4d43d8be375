#include <ATen/ops/empty.h>

#include <cstring>
#include <fstream>

#include "lockstep/base/check.hpp"
#include "lockstep/base/utf8.hpp"
#include "torch_file.hpp"

namespace lockstep::train {
namespace {

using Kind = PickleValue::Kind;

/// The number that begins a file, LONG1 and STOP of its pickle; before it stand PROTO and, from
/// protocol 4 on, FRAME.
constexpr std::string_view kMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
constexpr std::int64_t kProtocol = 1001;

std::string read_all(const std::string& file) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) {
    damaged_torch_file(file, errno_text());
  }
  std::string bytes(static_cast<std::size_t>(in.tellg()), '\0');
  in.seekg(0);
  if (!in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
    damaged_torch_file(file, "it ends early");
  }
  return bytes;
}

/// Reads a file from its first byte to its last.
class LegacyReader {
 public:
  explicit LegacyReader(const std::string& file) : file_(file), bytes_(read_all(file)) {}

  TorchWeights read() {
    const std::size_t begin = bytes_.find(kMagic) + kMagic.size();
    const Pickle protocol(bytes_, begin, file_, torch_rules());
    check(protocol.root().kind == Kind::kInteger && protocol.root().integer == kProtocol,
          "its version is not " + std::to_string(kProtocol));
    const Pickle machine(bytes_, protocol.end(), file_, torch_rules());
    check(machine.root().kind == Kind::kDict, "it does not tell the order of bytes");
    const PickleValue* little = machine.find(machine.root(), "little_endian");
    check(little != nullptr && little->kind == Kind::kBool, "it does not tell the order of bytes");
    check(little->integer == 1, "it was written on a machine with its highest bytes first");
    const Pickle object(bytes_, machine.end(), file_, torch_rules());
    const TorchStateDict dict = read_state_dict(object);
    const Pickle keys(bytes_, object.end(), file_, torch_rules());
    at_ = keys.end();
    return make_weights(dict, read_storages(keys, dict));
  }

 private:
  void check(bool holds, const std::string& why) const {
    if (!holds) {
      refuse_torch_file(file_, why);
    }
  }

  const char* take(std::int64_t bytes) {
    if (static_cast<std::uint64_t>(bytes) > bytes_.size() - at_) {
      damaged_torch_file(file_, "it ends early");
    }
    const char* begin = bytes_.data() + at_;
    at_ += static_cast<std::size_t>(bytes);
    return begin;
  }

  /// For each key the number of elements, then the elements.
  LoadedStorages read_storages(const Pickle& keys, const TorchStateDict& dict) {
    check(keys.root().kind == Kind::kList, "it has no list of storages");
    LoadedStorages loaded;
    for (const PickleValue* item : keys.root().items) {
      const std::string key(item->text);
      const auto found = dict.storages.find(key);
      check(found != dict.storages.end() && !loaded.contains(key),
            "its list of storages does not fit its tensors");
      std::int64_t elements = 0;
      std::memcpy(&elements, take(sizeof elements), sizeof elements);
      const TorchStorage& storage = found->second;
      if (elements != storage.elements) {
        damaged_torch_file(file_, "storage '" + escaped(key) + "' has " + std::to_string(elements) +
                                      " elements, not " + std::to_string(storage.elements));
      }
      const char* data = take(storage.bytes());
      at::Tensor flat = at::empty({elements}, at::TensorOptions().dtype(storage.type));
      if (elements > 0) {
        std::memcpy(flat.mutable_data_ptr(), data, static_cast<std::size_t>(storage.bytes()));
      }
      loaded.emplace(key, std::move(flat));
    }
    check(loaded.size() == dict.storages.size(), "its list of storages does not fit its tensors");
    if (at_ != bytes_.size()) {
      damaged_torch_file(file_, "more bytes follow");
    }
    return loaded;
  }

  std::string file_;
  std::string bytes_;
  std::size_t at_ = 0;
};

}  // namespace

bool is_torch_legacy(std::string_view head) {
  return head.starts_with('\x80') && head.substr(0, kTorchHead).find(kMagic) != head.npos;
}

TorchWeights read_torch_legacy(const std::string& file) { return LegacyReader(file).read(); }

}  // namespace lockstep::train
