#include "lockstep/data/shard_format.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "lockstep/base/check.hpp"
#include "lockstep/base/json_text.hpp"
#include "lockstep/data/image_resize.hpp"

namespace lockstep::data {
namespace {

constexpr const char* kHint = "pack the set again with pack_images";

bool is_digest(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

void check_consistency(const SetInfo& info, const std::string& source) {
  const auto check = [&](bool holds, const std::string& why) {
    require(holds, "cannot use '" + source + "'", why, kHint);
  };
  check(is_digest(info.set_id), "its set_id is no digest of 32 hex digits");
  check(info.height > 0 && info.width > 0, "pictures have no pixels");
  check(info.packed.fit == kNoFit || fit_from_name(info.packed.fit).has_value(),
        "its fit is none of crop, pad, stretch and none");
  std::int64_t in_shards = 0;
  for (std::size_t i = 0; i < info.shards.size(); ++i) {
    const ShardInfo& shard = info.shards[i];
    // Names are fixed, so that no set can point out of its folder.
    check(shard.file == shard_file_name(static_cast<std::int64_t>(i)) && shard.samples > 0 &&
              is_digest(shard.digest),
          "the entry of shard '" + shard.file + "' is wrong");
    in_shards += shard.samples;
  }
  const std::set<std::string> names(info.classes.begin(), info.classes.end());
  check(names.size() == info.classes.size() && !names.contains(""),
        "a class has no name, or two have the same");
  const auto in_classes =
      std::accumulate(info.class_counts.begin(), info.class_counts.end(), std::int64_t{0});
  const bool negative = std::any_of(info.class_counts.begin(), info.class_counts.end(),
                                    [](std::int64_t count) { return count < 0; });
  check(info.classes.size() == info.class_counts.size() && !negative && info.samples > 0 &&
            in_shards == info.samples && in_classes == info.samples,
        "its counts of samples contradict each other");
  for (std::size_t c = 0; c < 3; ++c) {
    check(info.mean[c] >= 0 && info.mean[c] <= 1 && info.std[c] >= 0 && info.std[c] <= 1,
          "its channel mean or std is out of range");
  }
}

}  // namespace

std::string shard_file_name(std::int64_t index) {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "%05lld.h5", static_cast<long long>(index));
  return name.data();
}

std::string to_json(const SetInfo& info) {
  nlohmann::ordered_json json = {
      {"format", kFormatName},
      {"version", kFormatVersion},
      {"set_id", info.set_id},
      {"samples", info.samples},
      {"height", info.height},
      {"width", info.width},
      {"fit", info.packed.fit},
      {"background", info.packed.background},
      {"classes", info.classes},
      {"class_counts", info.class_counts},
      {"mean", info.mean},
      {"std", info.std},
      {"shards", nlohmann::ordered_json::array()},
  };
  for (const ShardInfo& shard : info.shards) {
    json["shards"].push_back(
        {{"file", shard.file}, {"samples", shard.samples}, {"xxh3_128", shard.digest}});
  }
  return json.dump(2) + "\n";
}

namespace {

/// A whole number. (The JSON library would cut 32.7 down to 32.)
std::int64_t whole(const nlohmann::json& json, const char* name, const std::string& source) {
  const nlohmann::json& value = json.at(name);
  require(value.is_number_integer(), "cannot use '" + source + "'",
          std::string("its ") + name + " is " + value.dump() + ", not a whole number", kHint);
  return value.get<std::int64_t>();
}

/// One number for each channel. (The JSON library would take the first three of four.)
std::array<double, 3> three(const nlohmann::json& json, const char* name,
                            const std::string& source) {
  const nlohmann::json& value = json.at(name);
  require(value.is_array() && value.size() == 3, "cannot use '" + source + "'",
          std::string("its ") + name + " is not one number for each of three channels", kHint);
  return value.get<std::array<double, 3>>();
}

std::array<std::uint8_t, 3> colour(const nlohmann::json& json, const std::string& source) {
  const nlohmann::json& values = json.at("background");
  std::array<std::uint8_t, 3> bytes{};
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint8_t>::max();
  bool fits = values.is_array() && values.size() == bytes.size();
  for (std::size_t c = 0; fits && c < bytes.size(); ++c) {
    fits = values[c].is_number_unsigned() && values[c].get<std::uint64_t>() <= kLargest;
    bytes[c] = fits ? values[c].get<std::uint8_t>() : std::uint8_t{0};
  }
  require(fits, "cannot use '" + source + "'",
          "its background is no colour of three whole numbers from 0 to 255", kHint);
  return bytes;
}

}  // namespace

SetInfo set_info_from_json(const std::string& text, const std::string& source) {
  const std::string fault = json_fault(text);
  require(fault.empty(), "cannot read '" + source + "'", fault, kHint);
  SetInfo info;
  try {
    const auto json = nlohmann::json::parse(text);
    require(json.at("format") == kFormatName, "'" + source + "' describes no set of shards",
            "its format is another", kHint);
    require(json.at("version") == kFormatVersion, "cannot read the set of '" + source + "'",
            "it has version " + json.at("version").dump() + ", this program reads version " +
                std::to_string(kFormatVersion),
            "use the version of pack_images that belongs to this program");
    json.at("set_id").get_to(info.set_id);
    info.samples = whole(json, "samples", source);
    info.height = whole(json, "height", source);
    info.width = whole(json, "width", source);
    json.at("fit").get_to(info.packed.fit);
    info.packed.background = colour(json, source);
    json.at("classes").get_to(info.classes);
    json.at("class_counts").get_to(info.class_counts);
    info.mean = three(json, "mean", source);
    info.std = three(json, "std", source);
    for (const auto& entry : json.at("shards")) {
      info.shards.push_back({entry.at("file").get<std::string>(), whole(entry, "samples", source),
                             entry.at("xxh3_128").get<std::string>()});
    }
  } catch (const nlohmann::json::exception& error) {
    throw Error("cannot read '" + source + "'", error.what(), kHint);
  }
  check_consistency(info, source);
  return info;
}

namespace {

/// Where the packing tools put sets below a folder.
std::string set_below(const std::string& folder) {
  for (const char* part : {"train", "val", "test"}) {
    const std::filesystem::path set = std::filesystem::path(folder) / part;
    std::error_code error;
    if (std::filesystem::is_regular_file(set / kSetFile, error)) return set.string();
  }
  return {};
}

}  // namespace

SetInfo read_set_info(const std::string& folder) {
  const std::string path = folder + "/" + kSetFile;
  const auto refuse = [&](const std::string& why) {
    const std::string below = set_below(folder);
    throw UsageError(
        "'" + folder + "' is no set of shards", path + ": " + why,
        below.empty() ? "give a folder that pack_images has made" : "did you mean " + below + "?");
  };
  std::error_code error;
  const auto kind = std::filesystem::status(path, error);
  if (!std::filesystem::exists(kind)) refuse(error ? error.message() : "there is no such file");
  if (!std::filesystem::is_regular_file(kind)) refuse("it is not a regular file");
  constexpr std::uintmax_t kLargest = 1U << 28U;  // some 2 million shards
  if (std::filesystem::file_size(path, error) > kLargest || error) {
    refuse(error ? error.message() : "it is larger than 256 MiB");
  }
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  if (!in.is_open() || in.bad()) refuse(errno_text());
  return set_info_from_json(text, path);
}

}  // namespace lockstep::data
