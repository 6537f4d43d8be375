#include "manifest.hpp"

#include <xxhash.h>

#include <array>
#include <nlohmann/json.hpp>

#include "lockstep/base/check.hpp"
#include "lockstep/base/durable_file.hpp"

namespace lockstep::train {
namespace {

constexpr const char* kHint = "use another checkpoint of the run, or copy this one again";

}  // namespace

std::string xxh3_128(const void* data, std::size_t bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, bytes));
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : canonical.digest) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

std::string make_manifest(const std::string& folder, const std::vector<std::string>& files) {
  nlohmann::ordered_json manifest = {{"format", "lockstep-checkpoint"}, {"version", 1}};
  for (const std::string& name : files) {
    const std::string content = read_file(folder + "/" + name);
    manifest["files"][name] = {{"bytes", content.size()},
                               {"xxh3_128", xxh3_128(content.data(), content.size())}};
  }
  return manifest.dump(2) + "\n";
}

void check_manifest(const std::string& folder, const std::vector<std::string>& needed) {
  const std::string path = folder + "/" + kManifestFile;
  nlohmann::ordered_json manifest;
  try {
    manifest = nlohmann::ordered_json::parse(read_file(path));
    if (manifest.at("format") != "lockstep-checkpoint" || manifest.at("version") != 1) {
      throw Error("'" + folder + "' is no checkpoint of this version",
                  "its manifest says another format", kHint);
    }
    for (const std::string& name : needed) {
      if (!manifest.at("files").contains(name)) {
        throw Error("manifest '" + path + "' is damaged", "it does not list " + name, kHint);
      }
    }
    for (const auto& [name, entry] : manifest.at("files").items()) {
      if (name.find('/') != std::string::npos) {
        throw Error("manifest '" + path + "' is damaged",
                    "'" + name + "' is no name of a file in its folder", kHint);
      }
      const std::string content = read_file(folder + "/" + name);
      if (entry.at("bytes") != content.size()) {
        throw Error("checkpoint file '" + folder + "/" + name + "' is damaged",
                    "it has " + std::to_string(content.size()) + " bytes, the manifest says " +
                        entry.at("bytes").dump(),
                    kHint);
      }
      if (xxh3_128(content.data(), content.size()) != entry.at("xxh3_128")) {
        throw Error("checkpoint file '" + folder + "/" + name + "' is damaged",
                    "its checksum differs from the manifest's", kHint);
      }
    }
  } catch (const nlohmann::json::exception& error) {
    throw Error("manifest '" + path + "' is damaged", error.what(), kHint);
  }
}

}  // namespace lockstep::train
