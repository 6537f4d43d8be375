#pragma once

#include <caffe2/serialize/inline_container.h>

#include <string>
#include <utility>
#include <vector>

#include "support/pickles.hpp"

/// Files for tests as torch.save writes them, part by part.
namespace lockstep::torch_files {

using pickles::little;

/// Opcodes for a number, of its 8 bytes.
inline std::string number(std::int64_t value) {
  return "\x8a\x08" + little(static_cast<std::uint64_t>(value), 8);
}
inline std::string tuple(const std::vector<std::int64_t>& values) {
  std::string text = "(";
  for (const std::int64_t value : values) text += number(value);
  return text + "t";
}
inline std::string storage(const std::string& type, const std::string& key, std::int64_t elements,
                           const std::string& view = "") {
  return "(" + pickles::unicode("storage") + pickles::global("torch", type) +
         pickles::unicode(key) + pickles::unicode("cpu") + number(elements) + view + "tQ";
}
inline std::string rebuild(const std::string& in, std::int64_t offset,
                           const std::vector<std::int64_t>& sizes,
                           const std::vector<std::int64_t>& strides,
                           const std::string& metadata = "") {
  return pickles::global("torch._utils", "_rebuild_tensor_v2") + "(" + in + number(offset) +
         tuple(sizes) + tuple(strides) + "\x89" + pickles::ordered_dict() + ")R" + metadata + "tR";
}
/// An OrderedDict of names and opcodes, with the attribute that a state dict has.
inline std::string dict(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string text = pickles::ordered_dict() + ")R(";
  for (const auto& [name, value] : entries) text += pickles::unicode(name) + value;
  return text + "u}" + pickles::unicode("_metadata") + pickles::ordered_dict() + ")Rsb";
}

/// The contents of a storage, by key.
using Contents = std::vector<std::pair<std::string, std::string>>;

/// A file of the format before PyTorch 1.6. `object` are the opcodes of what is saved, `width` the
/// bytes of an element.
inline std::string legacy(const std::string& object, const Contents& contents,
                          std::size_t width = 4, const std::string& little_endian = "\x88") {
  std::string keys = "](";
  std::string data;
  for (const auto& [key, bytes] : contents) {
    keys += pickles::unicode(key);
    data += little(bytes.size() / width, 8) + bytes;
  }
  const std::string proto = pickles::proto(2);
  return proto + "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19." + proto + "M\xe9\x03." +
         proto + "}" + pickles::unicode("little_endian") + little_endian + "s." + proto + object +
         "." + proto + keys + "e." + data;
}

/// A zip archive with these records.
inline std::string zip(const Contents& records, bool compress = false) {
  std::string bytes;
  caffe2::serialize::PyTorchStreamWriter writer([&](const void* data, std::size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return size;
  });
  for (const auto& [name, contents] : records) {
    writer.writeRecord(name, contents.data(), contents.size(), compress);
  }
  writer.writeEndOfFile();
  return bytes;
}
/// The records of a state dict in the format since PyTorch 1.6.
inline Contents records(const std::string& object, const Contents& contents,
                        const std::string& byte_order = "little") {
  Contents all{{"data.pkl", pickles::proto(2) + object + "."}, {"byteorder", byte_order}};
  for (const auto& [key, bytes] : contents) all.emplace_back("data/" + key, bytes);
  return all;
}

}  // namespace lockstep::torch_files
