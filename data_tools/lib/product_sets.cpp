#include "lib/product.hpp"
#include "lockstep/data/shard_format.hpp"

namespace lockstep::tools {
namespace fs = std::filesystem;
namespace {

bool is_set_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == data::kSetFile || (name.size() >= 8 && name.ends_with(".h5") &&
                                    name.find_first_not_of("0123456789") == name.size() - 3);
}

bool is_part(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == "train" || name == "val" || name == "test";
}

bool is_set(const fs::path& folder) {
  return is_there(folder / data::kSetFile) && all_entries(folder, [](const fs::path& entry) {
           std::error_code error;
           return is_set_file(entry) && fs::is_regular_file(entry, error);
         });
}

bool holds_only_sets(const std::string& folder) {
  return is_folder(folder) && (is_set(folder) || all_entries(folder, [](const fs::path& entry) {
                                 return is_part(entry) && is_folder(entry) && is_set(entry);
                               }));
}

/// By the names that packing gives.
bool remove_sets(const std::string& folder) {
  if (!is_folder(folder)) return !is_there(folder);
  (void)all_entries(folder, [](const fs::path& entry) {
    std::error_code error;
    if (is_part(entry) && is_folder(entry)) {
      remove_sets(entry.string());
    } else if (is_set_file(entry.extension() == ".small" ? entry.stem() : entry)) {
      fs::remove(entry, error);
    }
    return true;
  });
  std::error_code error;
  fs::remove(folder, error);
  return !is_there(folder);
}

std::string contents_of(const std::string& folder) {
  if (is_set(folder)) return "set";
  std::string names;
  std::size_t count = 0;
  for (const char* part : {"train", "val", "test"}) {
    if (!is_set(fs::path(folder) / part)) continue;
    names += (count++ > 0 ? ", " : " ") + std::string(part);
  }
  return count == 0 ? names : (count == 1 ? "set" : "sets") + names;
}

}  // namespace

const Product& sets_of_shards() {
  static constexpr Product kSets{"sets of shards", holds_only_sets, remove_sets, contents_of};
  return kSets;
}

}  // namespace lockstep::tools
