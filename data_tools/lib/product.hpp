#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace lockstep::tools {

/// A kind of folder that a tool makes: what it may replace, and remove again.
struct Product {
  const char* name;  ///< "sets of shards"
  /// Whether nothing else would be lost with the folder: it holds only such, or is empty. A link is
  /// no folder, nor is one that cannot be read.
  bool (*holds_only)(const std::string& folder);
  /// Removes what the tool makes in a folder, finished or not, and the folder unless anything else
  /// is in it. Whether all is gone.
  bool (*remove)(const std::string& folder);
  /// What such a folder holds, for "replaced the ... of OUT": "sets train, test"; "" for nothing.
  std::string (*contents)(const std::string& folder);
};

/// A set, or a folder of sets named train, val and test.
[[nodiscard]] const Product& sets_of_shards();

/// Pictures that unpack_shards wrote, and the list of them.
[[nodiscard]] const Product& unpacked_pictures();

/// Whether something is there, a link to nowhere included.
[[nodiscard]] inline bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::symlink_status(path, error));
}

/// A folder itself, not a link to one.
[[nodiscard]] inline bool is_folder(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_directory(std::filesystem::symlink_status(path, error));
}

/// Whether `good` holds for all entries of a folder; false when it cannot be read.
template <typename Good>
[[nodiscard]] bool all_entries(const std::filesystem::path& folder, const Good& good) {
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (!good(entry->path())) return false;
  }
  return !error;
}

}  // namespace lockstep::tools
