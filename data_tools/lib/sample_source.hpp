#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lockstep/data/image_decode.hpp"

namespace lockstep::tools {

/// A sample that is to be packed, before its picture is read.
struct Sample {
  std::int32_t label = 0;
  std::string path;          ///< what the set keeps as its source path: UTF-8, with /
  std::uint64_t origin = 0;  ///< what the source knows it by: a folder, or the number of a record
};

/// Where the pictures of one set come from. Every tool that packs makes one of these.
struct SampleSource {
  std::vector<std::string> classes;
  std::vector<Sample> samples;  ///< in any order; packing sorts them by (label, path)
  /// The picture of a sample, from any thread. Throws data::ImageError for one that is bad.
  std::function<data::Image(const Sample&)> decode;
};

/// The source path of a record that has a number instead of a name: "FILE/000042".
[[nodiscard]] inline std::string numbered(const std::string& file, std::uint64_t number) {
  constexpr std::size_t kDigits = 6;
  const std::string digits = std::to_string(number);
  return file + "/" + std::string(kDigits - std::min(kDigits, digits.size()), '0') + digits;
}

/// The order of samples that shuffling starts from, the same however they were found: by label,
/// then by path as bytes.
[[nodiscard]] inline bool comes_before(const Sample& a, const Sample& b) {
  return a.label != b.label ? a.label < b.label : a.path < b.path;
}

}  // namespace lockstep::tools
