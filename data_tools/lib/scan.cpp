#include "lib/scan.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "lib/folder_walk.hpp"
#include "lib/places.hpp"
#include "lockstep/base/check.hpp"

namespace lockstep::tools {
namespace {

/// The classes of a list, and what an error says about it.
class Labels {
 public:
  Labels(const std::vector<std::string>& classes, const ScanOptions& options) : options_(options) {
    for (std::size_t i = 0; i < classes.size(); ++i) {
      labels_.emplace(classes[i], static_cast<std::int32_t>(i));
    }
  }

  [[nodiscard]] std::int32_t of(const std::string& name, const std::string& root) const {
    const auto found = labels_.find(name);
    if (found == labels_.end()) {
      throw UsageError("class folder '" + name + "' of '" + root + "' is unknown",
                       options_.classes_from + " has no such class",
                       "rename or remove the folder, or let all sets have the same classes");
    }
    return found->second;
  }

 private:
  const ScanOptions& options_;
  std::map<std::string, std::int32_t> labels_;
};

void check_all_found(const ScanOptions& options, const std::set<std::string>& found) {
  if (!options.every_class_wanted || options.allow_empty_classes) return;
  for (const std::string& name : options.classes) {
    if (!found.contains(name)) {
      throw UsageError("class '" + name + "' of " + options.classes_from + " has no folder",
                       "a class without pictures cannot be learned",
                       "correct the list, add the folder, or give --allow-empty-classes");
    }
  }
}

void check_none_empty(const ScanResult& result, const std::vector<std::set<std::string>>& folders) {
  std::vector<bool> filled(result.classes.size());
  for (const Sample& file : result.files) filled[static_cast<std::size_t>(file.label)] = true;
  for (std::size_t label = 0; label < filled.size(); ++label) {
    if (filled[label]) continue;
    std::string where;
    for (std::size_t i = 0; i < folders.size(); ++i) {
      if (folders[i].contains(result.classes[label])) {
        where += (where.empty() ? "'" : ", '") + result.roots[i].folder + "'";
      }
    }
    if (!where.empty()) {
      throw UsageError(
          "class folder '" + result.classes[label] + "' of " + where + " has no picture",
          "a class without pictures cannot be learned",
          "add pictures, remove the folder, or give --allow-empty-classes");
    }
  }
}

}  // namespace

std::int64_t ScannedRoot::ignored_count() const {
  return std::accumulate(ignored.begin(), ignored.end(), std::int64_t{0},
                         [](std::int64_t sum, const auto& entry) { return sum + entry.second; });
}

ScanResult scan_folders(const std::vector<std::string>& roots, const ScanOptions& options) {
  ScanResult result;
  const std::vector<std::string> prefixes = name_folders(roots);
  std::vector<std::set<std::string>> folders;
  std::set<std::string> all;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    result.roots.push_back({roots[i], prefixes[i], 0, {}});
    folders.push_back(class_folders(result.roots.back()));
    if (folders.back().empty()) {
      throw UsageError("'" + roots[i] + "' has no class folder",
                       "pictures are labelled by their folder",
                       "put the pictures of each class into a folder of its own");
    }
    all.insert(folders.back().begin(), folders.back().end());
  }
  result.classes = options.classes;
  if (result.classes.empty()) {
    result.classes.assign(all.begin(), all.end());
    sort_classes(result.classes, options.order);
  }
  const Labels labels(result.classes, options);
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const std::size_t before = result.files.size();
    for (const std::string& name : folders[i]) {
      add_pictures(result.roots[i], name, {labels.of(name, roots[i]), "", i}, result.files);
    }
    result.roots[i].pictures = static_cast<std::int64_t>(result.files.size() - before);
  }
  check_all_found(options, all);
  if (!options.allow_empty_classes) check_none_empty(result, folders);
  std::sort(result.files.begin(), result.files.end(), comes_before);
  return result;
}

}  // namespace lockstep::tools
