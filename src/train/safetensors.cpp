#include "lockstep/train/safetensors.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "lockstep/base/check.hpp"
#include "lockstep/base/durable_file.hpp"
#include "lockstep/base/json_text.hpp"

namespace lockstep::train {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

constexpr const char* kMetadata = "__metadata__";
constexpr std::uint64_t kMaxHeader = 100U << 20U;  // the limit of the format's own library

struct TypeName {
  at::ScalarType type;
  const char* name;
};
// The first ones are written, too; the others come with weights from elsewhere.
constexpr std::array<TypeName, 9> kTypes{{{at::kFloat, "F32"},
                                          {at::kDouble, "F64"},
                                          {at::kLong, "I64"},
                                          {at::kHalf, "F16"},
                                          {at::kBFloat16, "BF16"},
                                          {at::kInt, "I32"},
                                          {at::kShort, "I16"},
                                          {at::kChar, "I8"},
                                          {at::kByte, "U8"}}};
constexpr std::size_t kWritten = 3;

const char* name_of(at::ScalarType type, const std::string& tensor) {
  for (std::size_t i = 0; i < kWritten; ++i) {
    if (kTypes[i].type == type) {
      return kTypes[i].name;
    }
  }
  throw Error("cannot save tensor '" + tensor + "'", "its type has no place in the file",
              "save float32, float64 or int64");
}

[[noreturn]] void damaged(const std::string& file, const std::string& why) {
  throw Error("cannot read '" + file + "'", why, "use another checkpoint, or copy it again");
}

/// A list of whole numbers from 0. (The JSON library would round 2.5 down and wrap -1.)
std::vector<std::int64_t> counts(const nlohmann::json& list, const std::string& name,
                                 const std::string& file) {
  constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> numbers;
  bool good = list.is_array();
  for (const auto& item : list) {
    good = good && item.is_number_unsigned() && item.get<std::uint64_t>() <= kLargest;
    numbers.push_back(good ? item.get<std::int64_t>() : 0);
  }
  if (!good) {
    damaged(file, "shape and place of tensor '" + name + "' must be lists of numbers from 0");
  }
  return numbers;
}

/// A tensor of the header: where its bytes are, checked against its shape and the size of the data.
struct Entry {
  std::string name;
  at::ScalarType type;
  std::vector<std::int64_t> shape;
  std::int64_t begin;
  std::int64_t end;
};

Entry entry_from(const nlohmann::json& json, const std::string& name, std::int64_t data_bytes,
                 const std::string& file) {
  const auto dtype = json.at("dtype").get<std::string>();
  const auto* const type = std::find_if(kTypes.begin(), kTypes.end(),
                                        [&](const TypeName& known) { return dtype == known.name; });
  if (type == kTypes.end()) {
    damaged(file, "tensor '" + name + "' has type " + dtype + ", which this program does not read");
  }
  const std::vector<std::int64_t> shape = counts(json.at("shape"), name, file);
  // Without its zeros the shape must still be one that can be counted: strides are.
  auto bytes = static_cast<std::int64_t>(c10::elementSize(type->type));
  bool empty = false;
  for (const std::int64_t extent : shape) {
    empty = empty || extent == 0;
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(extent, 1), &bytes)) {
      damaged(file, "the shape of tensor '" + name + "' is too large");
    }
  }
  bytes = empty ? 0 : bytes;
  const std::vector<std::int64_t> place = counts(json.at("data_offsets"), name, file);
  if (place.size() != 2 || place[0] > place[1] || place[1] > data_bytes ||
      place[1] - place[0] != bytes) {
    damaged(file, "the place of tensor '" + name + "' does not fit its shape or the file");
  }
  return {name, type->type, shape, place[0], place[1]};
}

/// Notes the names of the outermost object in their order, and one that stands twice in any (the
/// JSON library would take its last value).
class HeaderNames : public nlohmann::json_sax<nlohmann::json> {
 public:
  [[nodiscard]] const std::vector<std::string>& outermost() const { return outermost_; }
  [[nodiscard]] const std::string& twice() const { return twice_; }

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_array(std::size_t /*elements*/) override { return true; }
  bool end_array() override { return true; }
  bool start_object(std::size_t /*elements*/) override {
    open_.emplace_back();
    return true;
  }
  bool end_object() override {
    open_.pop_back();
    return true;
  }
  bool key(string_t& name) override {
    if (!open_.back().insert(name).second) {
      twice_ = name;
      return false;
    }
    if (open_.size() == 1) {
      outermost_.push_back(name);
    }
    return true;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) override {
    return false;  // the parser will say it
  }

 private:
  std::vector<std::set<std::string>> open_;  // the names seen in each object not closed yet
  std::vector<std::string> outermost_;
  std::string twice_;
};

/// The tensors of a header, in its order. (Not parsed with a callback of the library's: it would go
/// through all tensors for each of them.)
std::vector<Entry> parse_header(const std::string& text, std::int64_t data_bytes,
                                const std::string& file) {
  if (const std::string fault = json_fault(text); !fault.empty()) {
    damaged(file, "its header: " + fault);
  }
  HeaderNames names;
  if (!nlohmann::json::sax_parse(text, &names) && !names.twice().empty()) {
    damaged(file, "its header names '" + names.twice() + "' twice");
  }
  const auto header = nlohmann::json::parse(text);
  if (!header.is_object()) {
    damaged(file, "its header is no object");
  }
  std::vector<Entry> entries;
  for (const std::string& name : names.outermost()) {
    if (name != kMetadata) {
      entries.push_back(entry_from(header.at(name), name, data_bytes, file));
    }
  }
  return entries;
}

/// Every byte of the data belongs to one tensor, as the format demands.
void check_places(std::vector<Entry> entries, std::int64_t data_bytes, const std::string& file) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::int64_t end = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != end) {
      damaged(file, entry.begin < end ? "tensor '" + entry.name + "' overlaps another"
                                      : "there is a hole before tensor '" + entry.name + "'");
    }
    end = entry.end;
  }
  if (end != data_bytes) {
    damaged(file, std::to_string(data_bytes - end) + " bytes at its end belong to no tensor");
  }
}

}  // namespace

void write_safetensors(const std::string& file, const NamedTensors& tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    require(name != kMetadata && !header.contains(name), "cannot save tensor '" + name + "'",
            "the name is taken", "report this as a defect");
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
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(file, unknown)) {  // a pipe would be waited for
    damaged(file, unknown ? unknown.message() : "it is not a regular file");
  }
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
  if (!in.read(text.data(), static_cast<std::streamsize>(length))) {
    damaged(file, "it ends early");
  }
  NamedTensors tensors;
  try {
    const auto data_bytes = static_cast<std::int64_t>(size - sizeof length - length);
    const std::vector<Entry> entries = parse_header(text, data_bytes, file);
    check_places(entries, data_bytes, file);
    const std::streamoff begin = in.tellg();
    for (const Entry& entry : entries) {
      at::Tensor tensor = at::empty(entry.shape, at::TensorOptions().dtype(entry.type));
      if (entry.begin < entry.end &&
          !in.seekg(begin + entry.begin)
               .read(static_cast<char*>(tensor.mutable_data_ptr()), entry.end - entry.begin)) {
        damaged(file, "it ends early");
      }
      tensors.emplace_back(entry.name, tensor);
    }
  } catch (const nlohmann::json::exception& error) {
    damaged(file, error.what());
  }
  return tensors;
}

}  // namespace lockstep::train
