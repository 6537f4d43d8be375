#include "lockstep/train/safetensors.hpp"

#include <ATen/ops/empty.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lockstep/base/check.hpp"
#include "lockstep/train/durable_file.hpp"

namespace lockstep::train {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

constexpr std::uint64_t kMaxHeader = 100U << 20U;  // the limit of the format's own library

struct TypeName {
  at::ScalarType type;
  const char* name;
};
constexpr std::array<TypeName, 3> kTypes{
    {{at::kFloat, "F32"}, {at::kDouble, "F64"}, {at::kLong, "I64"}}};

const char* name_of(at::ScalarType type, const std::string& tensor) {
  for (const TypeName& entry : kTypes) {
    if (entry.type == type) {
      return entry.name;
    }
  }
  throw Error("cannot save tensor '" + tensor + "'", "its type has no place in the file",
              "save float32, float64 or int64");
}

[[noreturn]] void damaged(const std::string& file, const std::string& why) {
  throw Error("cannot read '" + file + "'", why, "use another checkpoint, or copy it again");
}

at::Tensor tensor_from(const nlohmann::ordered_json& entry, const std::string& name,
                       const std::vector<char>& data, const std::string& file) {
  const auto dtype = entry.at("dtype").get<std::string>();
  const auto shape = entry.at("shape").get<std::vector<std::int64_t>>();
  const auto offsets = entry.at("data_offsets").get<std::array<std::uint64_t, 2>>();
  for (const TypeName& type : kTypes) {
    if (dtype != type.name) {
      continue;
    }
    std::uint64_t bytes = c10::elementSize(type.type);
    for (const std::int64_t extent : shape) {
      if (extent < 0 || (extent > 0 && bytes > data.size() / static_cast<std::uint64_t>(extent))) {
        damaged(file, "the shape of tensor '" + name + "' does not fit its data");
      }
      bytes *= static_cast<std::uint64_t>(extent);
    }
    if (offsets[0] > offsets[1] || offsets[1] > data.size() || offsets[1] - offsets[0] != bytes) {
      damaged(file, "the place of tensor '" + name + "' does not fit its shape");
    }
    at::Tensor tensor = at::empty(shape, at::TensorOptions().dtype(type.type));
    if (bytes > 0) {
      std::memcpy(tensor.mutable_data_ptr(), data.data() + offsets[0], bytes);
    }
    return tensor;
  }
  damaged(file, "tensor '" + name + "' has type " + dtype + ", which this program does not read");
}

}  // namespace

void write_safetensors(const std::string& file, const NamedTensors& tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::uint64_t bytes = tensor.nbytes();
    header[name] = {{"dtype", name_of(tensor.scalar_type(), name)},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // tensors start at a multiple of 8
  const std::uint64_t length = text.size();

  DurableFile out(file);
  out.write(&length, sizeof length);
  out.write(text.data(), text.size());
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor plain = tensor.detach().cpu().contiguous();
    out.write(plain.const_data_ptr(), plain.nbytes());
  }
  out.close();
}

NamedTensors read_safetensors(const std::string& file) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) {
    damaged(file, errno_text());
  }
  const auto size = static_cast<std::uint64_t>(in.tellg());
  in.seekg(0);
  std::uint64_t length = 0;
  if (size < sizeof length || !in.read(reinterpret_cast<char*>(&length), sizeof length) ||
      length > kMaxHeader || length > size - sizeof length) {
    damaged(file, "it is no safetensors file, or cut off");
  }
  std::string text(length, '\0');
  std::vector<char> data(size - sizeof length - length);
  if (!in.read(text.data(), static_cast<std::streamsize>(length)) ||
      (!data.empty() && !in.read(data.data(), static_cast<std::streamsize>(data.size())))) {
    damaged(file, "it ends early");
  }
  NamedTensors tensors;
  try {
    const auto header = nlohmann::ordered_json::parse(text);
    for (const auto& [name, entry] : header.items()) {
      if (name != "__metadata__") {
        tensors.emplace_back(name, tensor_from(entry, name, data, file));
      }
    }
  } catch (const nlohmann::json::exception& error) {
    damaged(file, error.what());
  }
  return tensors;
}

}  // namespace lockstep::train
