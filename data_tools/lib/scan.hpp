#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lockstep::tools {

/// A picture file of a folder of class folders.
struct FoundFile {
  std::int32_t label = 0;
  std::string path;  ///< relative to the root, UTF-8, with /
};

/// What a folder holds. `files` in byte order of (class, path).
struct ScanResult {
  std::vector<std::string> classes;  ///< byte order of names, or the order of the given list
  std::vector<FoundFile> files;
  std::map<std::string, std::int64_t> ignored;  ///< reason -> files
  [[nodiscard]] std::int64_t ignored_count() const;
};

struct ScanOptions {
  /// Labels by this list instead of by the folders found; a folder that is not in it is an error.
  std::vector<std::string> classes;
  bool allow_empty_classes = false;
};

/// Reads a folder as torchvision's ImageFolder does: the folders in it are classes, pictures in
/// deeper folders belong to the top one. A file is a picture by its suffix (and bad, later, if it
/// is none inside) or, with any other suffix, by the first bytes of a JPEG or PNG. Hidden files and
/// folders, other files and what is no file (pipes, say) are ignored and counted. Links are
/// followed; a link to a folder that contains it is ignored and counted. Names must be UTF-8.
/// Throws UsageError when there is no class, one has no picture, or a name cannot be stored.
[[nodiscard]] ScanResult scan_folder(const std::string& root, const ScanOptions& options);

/// Whether a text is well-formed UTF-8 (RFC 3629).
[[nodiscard]] bool is_utf8(const std::string& text);

}  // namespace lockstep::tools
