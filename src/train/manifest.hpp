#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::train {

inline constexpr const char* kManifestFile = "MANIFEST.json";

/// XXH3-128 as 32 hex digits (canonical byte order).
[[nodiscard]] std::string xxh3_128(const void* data, std::size_t bytes);

/// The manifest of the named files of a folder: name, size, digest.
[[nodiscard]] std::string make_manifest(const std::string& folder,
                                        const std::vector<std::string>& files);

/// Checks every file of folder/MANIFEST.json, and that the `needed` ones are among them; throws
/// Error naming the first that does not hold. Other files in the folder are let be.
void check_manifest(const std::string& folder, const std::vector<std::string>& needed);

/// A pointer file (best, latest): the checkpoint folder beside it and the digest of its manifest.
struct Pointer {
  std::string name;
  std::string manifest_digest;
};

/// The text of a pointer to `name`, whose folder lies in `folder`. Throws Error.
[[nodiscard]] std::string pointer_text(const std::string& folder, const std::string& name);

/// What a pointer file says; none when there is no such file, or it is no pointer. The name is as
/// the file has it. Throws Error when the file cannot be read.
[[nodiscard]] std::optional<Pointer> read_pointer(const std::string& file);

/// Whether a path is a pointer file; another one is not read for it.
[[nodiscard]] bool is_pointer(const std::string& path);

}  // namespace lockstep::train
