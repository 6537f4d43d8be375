#include <set>

#include "lib/product.hpp"
#include "lib/unpacked_list.hpp"

namespace lockstep::tools {
namespace fs = std::filesystem;
namespace {

bool is_plain_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(fs::symlink_status(path, error));
}

std::string name_in(const fs::path& class_folder, const fs::path& file) {
  return class_folder.filename().string() + "/" + file.filename().string();
}

/// An empty folder, or one of which the list names every picture, and nothing else is there.
bool holds_only_unpacked(const std::string& folder) {
  if (!is_folder(folder)) return false;
  const auto nothing = [](const fs::path& /*entry*/) { return false; };
  if (!has_unpacked_list(folder)) return all_entries(folder, nothing);
  const std::set<std::string> listed = listed_files(folder);
  return all_entries(folder, [&](const fs::path& entry) {
    if (entry.filename() == kUnpackedList) return is_plain_file(entry);
    return is_folder(entry) && all_entries(entry, [&](const fs::path& file) {
             return is_plain_file(file) && listed.contains(name_in(entry, file));
           });
  });
}

/// The pictures that the list names, then the list.
bool remove_unpacked(const std::string& folder) {
  if (!is_folder(folder)) return !is_there(folder);
  std::error_code error;
  std::set<fs::path> class_folders;
  for (const std::string& file : listed_files(folder)) {
    const fs::path path = fs::path(folder) / file;
    if (!is_folder(path.parent_path())) continue;
    class_folders.insert(path.parent_path());
    if (is_plain_file(path)) fs::remove(path, error);
  }
  for (const fs::path& class_folder : class_folders) fs::remove(class_folder, error);
  // As long as something is left the list tells what it is.
  const bool rest =
      !all_entries(folder, [](const fs::path& entry) { return entry.filename() == kUnpackedList; });
  if (!rest) {
    fs::remove(fs::path(folder) / kUnpackedList, error);
    fs::remove(folder, error);
  }
  return !is_there(folder);
}

std::string contents_of(const std::string& folder) {
  return has_unpacked_list(folder) ? "pictures" : "";
}

}  // namespace

const Product& unpacked_pictures() {
  static constexpr Product kUnpacked{"pictures that unpack_shards wrote, as its samples.jsonl says",
                                     holds_only_unpacked, remove_unpacked, contents_of};
  return kUnpacked;
}

}  // namespace lockstep::tools
