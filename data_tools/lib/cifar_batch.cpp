#include "lib/cifar_batch.hpp"

#include <algorithm>

#include "lib/numpy_pickle.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/utf8.hpp"

namespace lockstep::tools {
namespace {

constexpr std::size_t kLongestName = 255;  // bytes; each sample takes as many as the longest

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw Error("cannot use '" + file + "'", why, "download the archive again");
}

const PickleValue& list_at(const Pickle& pickle, std::string_view key) {
  const PickleValue& list = pickle.at(pickle.root(), key);
  if (list.kind != PickleValue::Kind::kList) {
    refuse(pickle.source(), "its " + std::string(key) + " are no list");
  }
  return list;
}

/// Texts or bytes of a list, as names of files and classes are.
std::vector<std::string> names_of(const Pickle& pickle, std::string_view key) {
  std::vector<std::string> names;
  for (const PickleValue* item : list_at(pickle, key).items) {
    const bool text =
        item->kind == PickleValue::Kind::kBytes || item->kind == PickleValue::Kind::kText;
    const bool plain = text && item->text.size() <= kLongestName && is_utf8(item->text) &&
                       std::none_of(item->text.begin(), item->text.end(), [](char c) {
                         return (c >= 0 && c < ' ') || c == 127 || c == '/';
                       });
    if (!plain) {
      refuse(pickle.source(), "entry " + std::to_string(names.size()) + " of its " +
                                  std::string(key) + " is no name");
    }
    names.emplace_back(item->text);
  }
  return names;
}

}  // namespace

data::Image CifarBatch::picture(std::size_t index) const {
  data::Image image{kCifarEdge, kCifarEdge, Bytes(kCifarValues)};
  const std::uint8_t* from = pixels + index * record;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    for (std::size_t i = 0; i < kCifarPixels; ++i) {
      image.rgb[i * 3 + channel] = from[(channel * kCifarPixels + i) * value];
    }
  }
  return image;
}

CifarBatch read_binary_batch(const std::string& file, Bytes bytes, std::size_t label_bytes,
                             std::size_t label_at) {
  const std::size_t record = label_bytes + kCifarValues;
  if (bytes.empty() || bytes.size() % record != 0) {
    refuse(file, "it has " + std::to_string(bytes.size()) +
                     " bytes, which are no whole records of " + std::to_string(record));
  }
  CifarBatch batch;
  batch.file = file;
  for (std::size_t at = label_at; at < bytes.size(); at += record) {
    batch.labels.push_back(bytes[at]);
  }
  const auto owner = std::make_shared<const Bytes>(std::move(bytes));
  batch.pixels = owner->data() + label_bytes;
  batch.record = record;
  batch.owner = owner;
  return batch;
}

CifarBatch read_pickled_batch(const std::string& file, Bytes bytes, std::string_view label_key) {
  const auto pickle = std::make_shared<const Pickle>(std::move(bytes), file, numpy_rules());
  const PickledArray pixels = pickled_array(*pickle, pickle->at(pickle->root(), "data"), "data");
  if (pixels.shape.size() != 2 || pixels.shape[1] != kCifarValues || pixels.shape[0] == 0) {
    refuse(file, "its data are not rows of " + std::to_string(kCifarValues) + " values");
  }
  CifarBatch batch;
  batch.file = file;
  for (const PickleValue* label : list_at(*pickle, label_key).items) {
    if (label->kind != PickleValue::Kind::kInteger) {
      refuse(file, "label " + std::to_string(batch.labels.size()) + " is no whole number");
    }
    batch.labels.push_back(label->integer);
  }
  const auto records = static_cast<std::size_t>(pixels.shape[0]);
  if (batch.labels.size() != records) {
    refuse(file, "it has " + std::to_string(batch.labels.size()) + " " + std::string(label_key) +
                     " for " + std::to_string(records) + " pictures");
  }
  if (pickle->find(pickle->root(), "filenames") != nullptr) {
    batch.names = names_of(*pickle, "filenames");
    if (batch.names.size() != records) {
      refuse(file, "it has " + std::to_string(batch.names.size()) + " filenames for " +
                       std::to_string(records) + " pictures");
    }
  }
  batch.pixels = reinterpret_cast<const std::uint8_t*>(pixels.bytes.data());
  batch.record = pixels.column_major ? 1 : kCifarValues;
  batch.value = pixels.column_major ? records : 1;
  batch.owner = pickle;
  return batch;
}

std::vector<std::string> read_pickled_names(const std::string& file, Bytes bytes,
                                            std::string_view key) {
  const Pickle pickle(std::move(bytes), file, numpy_rules());
  return names_of(pickle, key);
}

}  // namespace lockstep::tools
