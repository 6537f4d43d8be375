#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/class_list.hpp"
#include "lib/sample_source.hpp"

namespace lockstep::tools {

/// A folder of class folders, and what was found in it.
struct ScannedRoot {
  std::string folder;
  std::string prefix;  ///< of its paths in the set; "" for a single folder (see name_folders)
  std::int64_t pictures = 0;
  std::map<std::string, std::int64_t> ignored;  ///< reason -> files
  [[nodiscard]] std::int64_t ignored_count() const;
};

/// What folders hold.
struct ScanResult {
  std::vector<std::string> classes;  ///< all names of class folders in order, or the given list
  std::vector<Sample> files;         ///< by comes_before(); origin: index of the root
  std::vector<ScannedRoot> roots;
};

struct ScanOptions {
  /// Labels by this list instead of by the folders found; a folder that is not in it is an error.
  std::vector<std::string> classes{};
  std::string classes_from{};       ///< who gave the list, for errors: "--classes-from"
  bool every_class_wanted = false;  ///< a class of the list without a folder is an error, too
  ClassOrder order = ClassOrder::kByte;
  bool allow_empty_classes = false;
};

/// Reads folders as torchvision's ImageFolder does: the folders in each are classes, pictures in
/// deeper folders belong to the top one. Folders of one name in several roots are one class. A file
/// is a picture by its suffix (and bad, later, if it is none inside) or, with any other suffix, by
/// the first bytes of a JPEG or PNG. Hidden files and folders, other files and what is no file
/// (pipes, say) are ignored and counted. Links are followed; a link to a folder that contains it is
/// ignored and counted. Names must be UTF-8. Throws UsageError when a root has no class, a class no
/// picture, or a name cannot be stored.
[[nodiscard]] ScanResult scan_folders(const std::vector<std::string>& roots,
                                      const ScanOptions& options = {});

}  // namespace lockstep::tools
