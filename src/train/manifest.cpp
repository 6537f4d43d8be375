#include "manifest.hpp"

#include <xxhash.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "lockstep/base/check.hpp"
#include "lockstep/base/durable_file.hpp"
#include "lockstep/base/json_text.hpp"

namespace lockstep::train {
namespace {

constexpr const char* kPointerName = "checkpoint";
constexpr const char* kPointerDigest = "manifest_xxh3_128";
constexpr const char* kHint = "use another checkpoint of the run, or copy this one again";

std::string text_of(const XXH128_hash_t& hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : canonical.digest) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

/// Size and digest of a file, read piece by piece: weights may be larger than memory has room for.
struct FileDigest {
  std::uintmax_t bytes = 0;
  std::string xxh3_128;
};

FileDigest digest_of_file(const std::string& path) {
  constexpr std::size_t kPiece = 1U << 20U;
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       XXH3_freeState);
  require(state && XXH3_128bits_reset(state.get()) == XXH_OK, "cannot read '" + path + "'",
          "memory ran out", "free some");
  std::vector<char> piece(kPiece);
  FileDigest digest;
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  while (in) {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    const auto count = static_cast<std::size_t>(in.gcount());
    XXH3_128bits_update(state.get(), piece.data(), count);
    digest.bytes += count;
  }
  require(in.eof() && !in.bad(), "cannot read '" + path + "'", errno_text(),
          "check the path and its permissions");
  digest.xxh3_128 = text_of(XXH3_128bits_digest(state.get()));
  return digest;
}

/// Before it is read: it may be a pipe, or larger than it was.
void check_size(const std::string& path, const nlohmann::json& entry) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw Error("checkpoint file '" + path + "' is damaged",
                error ? error.message() : "it is not a regular file", kHint);
  }
  const auto bytes = std::filesystem::file_size(path, error);
  if (error || entry.at("bytes") != bytes) {
    throw Error(
        "checkpoint file '" + path + "' is damaged",
        "it has " + std::to_string(bytes) + " bytes, the manifest says " + entry.at("bytes").dump(),
        kHint);
  }
}

void check_file(const std::string& path, const nlohmann::json& entry) {
  check_size(path, entry);
  if (digest_of_file(path).xxh3_128 != entry.at("xxh3_128")) {
    throw Error("checkpoint file '" + path + "' is damaged",
                "its checksum differs from the manifest's", kHint);
  }
}

}  // namespace

std::string xxh3_128(const void* data, std::size_t bytes) {
  return text_of(XXH3_128bits(data, bytes));
}

std::string make_manifest(const std::string& folder, const std::vector<std::string>& files) {
  nlohmann::ordered_json manifest = {{"format", "lockstep-checkpoint"}, {"version", 1}};
  for (const std::string& name : files) {
    const FileDigest digest = digest_of_file(folder + "/" + name);
    manifest["files"][name] = {{"bytes", digest.bytes}, {"xxh3_128", digest.xxh3_128}};
  }
  return manifest.dump(2) + "\n";
}

void check_manifest(const std::string& folder, const std::vector<std::string>& needed) {
  const std::string path = folder + "/" + kManifestFile;
  const std::string text = read_file(path);
  const auto refuse = [&](const std::string& why) {
    throw Error("manifest '" + path + "' is damaged", why, kHint);
  };
  if (const std::string fault = json_fault(text); !fault.empty()) {
    refuse(fault);
  }
  try {
    const auto manifest = nlohmann::json::parse(text);
    if (manifest.at("format") != "lockstep-checkpoint" || manifest.at("version") != 1) {
      throw Error("'" + folder + "' is no checkpoint of this version",
                  "its manifest says another format", kHint);
    }
    for (const std::string& name : needed) {
      if (!manifest.at("files").contains(name)) {
        refuse("it does not list " + name);
      }
    }
    for (const auto& [name, entry] : manifest.at("files").items()) {
      if (name.find('/') != std::string::npos) {
        refuse("'" + name + "' is no name of a file in its folder");
      }
      check_file(folder + "/" + name, entry);
    }
  } catch (const nlohmann::json::exception& error) {
    refuse(error.what());
  }
}

std::string pointer_text(const std::string& folder, const std::string& name) {
  const std::string manifest = read_file(folder + "/" + name + "/" + kManifestFile);
  const nlohmann::ordered_json json = {
      {kPointerName, name}, {kPointerDigest, xxh3_128(manifest.data(), manifest.size())}};
  return json.dump() + "\n";
}

bool is_pointer(const std::string& path) {
  constexpr std::uintmax_t kMost = 4096;
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) &&
         std::filesystem::file_size(path, error) <= kMost && read_pointer(path).has_value();
}

std::optional<Pointer> read_pointer(const std::string& file) {
  if (!std::filesystem::exists(file)) {
    return std::nullopt;
  }
  const std::string text = read_file(file);
  if (!json_fault(text).empty()) {
    return std::nullopt;
  }
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto text_of_key = [&](const char* key) -> std::optional<std::string> {
    const auto found = json.is_object() ? json.find(key) : json.end();
    return found != json.end() && found->is_string() ? std::optional(found->get<std::string>())
                                                     : std::nullopt;
  };
  const std::optional<std::string> name = text_of_key(kPointerName);
  return name ? std::optional(Pointer{*name, text_of_key(kPointerDigest).value_or(std::string())})
              : std::nullopt;
}

}  // namespace lockstep::train
