#include "lockstep/data/shard_format.hpp"

#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "lockstep/base/check.hpp"

namespace lockstep::data {

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

SetInfo set_info_from_json(const std::string& text, const std::string& source) {
  const char* hint = "pack the set again with pack_images";
  SetInfo info;
  try {
    const auto json = nlohmann::json::parse(text);
    require(json.at("format") == kFormatName, "'" + source + "' describes no set of shards",
            "its format is another", hint);
    require(json.at("version") == kFormatVersion, "cannot read the set of '" + source + "'",
            "it has version " + json.at("version").dump() + ", this program reads version " +
                std::to_string(kFormatVersion),
            "use the version of pack_images that belongs to this program");
    json.at("set_id").get_to(info.set_id);
    json.at("samples").get_to(info.samples);
    json.at("height").get_to(info.height);
    json.at("width").get_to(info.width);
    json.at("classes").get_to(info.classes);
    json.at("class_counts").get_to(info.class_counts);
    json.at("mean").get_to(info.mean);
    json.at("std").get_to(info.std);
    for (const auto& entry : json.at("shards")) {
      info.shards.push_back({entry.at("file").get<std::string>(),
                             entry.at("samples").get<std::int64_t>(),
                             entry.at("xxh3_128").get<std::string>()});
    }
  } catch (const nlohmann::json::exception& error) {
    throw Error("cannot read '" + source + "'", error.what(), hint);
  }
  std::int64_t in_shards = 0;
  for (const ShardInfo& shard : info.shards) {
    require(shard.samples > 0 && shard.file.find('/') == std::string::npos,
            "cannot use '" + source + "'", "the entry of shard '" + shard.file + "' is wrong",
            hint);
    in_shards += shard.samples;
  }
  const auto in_classes =
      std::accumulate(info.class_counts.begin(), info.class_counts.end(), std::int64_t{0});
  require(info.height > 0 && info.width > 0, "cannot use '" + source + "'",
          "pictures have no pixels", hint);
  require(info.classes.size() == info.class_counts.size() && in_shards == info.samples &&
              in_classes == info.samples,
          "cannot use '" + source + "'", "its counts of samples contradict each other", hint);
  return info;
}

SetInfo read_set_info(const std::string& folder) {
  const std::string path = folder + "/" + kSetFile;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) {
    throw UsageError("'" + folder + "' is no set of shards", path + ": " + errno_text(),
                     "give a folder that pack_images has made");
  }
  return set_info_from_json(text.str(), path);
}

}  // namespace lockstep::data
