#include "lib/scan.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <set>

#include "lockstep/base/check.hpp"

namespace lockstep::tools {
namespace fs = std::filesystem;
namespace {

bool is_hidden(const std::string& name) { return name.starts_with("."); }

bool has_picture_suffix(const std::string& name) {
  static constexpr std::array<const char*, 17> kSuffixes{
      ".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp",  ".ppm", ".pgm",
      ".pbm", ".pnm",  ".tif", ".tiff", ".gif", ".heic", ".heif", ".avif"};
  std::string suffix = fs::path(name).extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(kSuffixes.begin(), kSuffixes.end(), suffix) != kSuffixes.end();
}

/// Walks one class folder.
class Walker {
 public:
  Walker(std::int32_t label, ScanResult& result) : label_(label), result_(result) {}

  void walk(const fs::path& folder, const std::string& relative, bool hidden) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    if (error || !open_.insert(real.string()).second) {
      ++result_.ignored["folder link in a circle"];
      return;
    }
    fs::directory_iterator entries(folder, error);
    if (error) {
      throw Error("cannot read folder '" + folder.string() + "'", error.message(),
                  "give read permission, or move it away");
    }
    for (const auto& entry : entries) {
      visit(entry, relative + entry.path().filename().string(), hidden);
    }
    open_.erase(real.string());
  }

 private:
  void visit(const fs::directory_entry& entry, const std::string& relative, bool hidden) {
    const std::string name = entry.path().filename().string();
    const bool now_hidden = hidden || is_hidden(name);
    std::error_code error;
    if (entry.is_directory(error)) {
      walk(entry.path(), relative + "/", now_hidden);
    } else if (now_hidden) {
      ++result_.ignored["hidden"];
    } else if (!has_picture_suffix(name)) {
      ++result_.ignored["not a picture's suffix"];
    } else {
      result_.files.push_back({label_, relative});
    }
  }

  std::int32_t label_;
  ScanResult& result_;
  std::set<std::string> open_;
};

/// Names of class folders in byte order; everything else at the top is ignored and counted.
std::vector<std::string> class_folders(const std::string& root, ScanResult& result) {
  std::error_code error;
  fs::directory_iterator entries(root, error);
  if (error) {
    throw UsageError("cannot read folder '" + root + "'", error.message(),
                     "give a folder with one folder of pictures per class");
  }
  std::vector<std::string> names;
  for (const auto& entry : entries) {
    const std::string name = entry.path().filename().string();
    const bool folder = entry.is_directory(error);
    if (folder && !is_hidden(name)) {
      names.push_back(name);
    } else if (folder) {
      ScanResult hidden;
      Walker(0, hidden).walk(entry.path(), name + "/", true);
      result.ignored["hidden"] += hidden.ignored_count();
    } else {
      ++result.ignored[is_hidden(name) ? "hidden" : "not in a class folder"];
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::int64_t ScanResult::ignored_count() const {
  std::int64_t count = 0;
  for (const auto& [reason, files_ignored] : ignored) count += files_ignored;
  return count;
}

ScanResult scan_folder(const std::string& root, const ScanOptions& options) {
  ScanResult result;
  const std::vector<std::string> folders = class_folders(root, result);
  if (folders.empty()) {
    throw UsageError("'" + root + "' has no class folder", "pictures are labelled by their folder",
                     "put the pictures of each class into a folder of its own");
  }
  result.classes = options.classes.empty() ? folders : options.classes;
  for (const std::string& name : folders) {
    const auto place = std::find(result.classes.begin(), result.classes.end(), name);
    if (place == result.classes.end()) {
      throw UsageError("class folder '" + name + "' of '" + root + "' is unknown",
                       "the set of --classes-from has no such class",
                       "rename or remove the folder, or pack both sets from the same classes");
    }
    const std::size_t before = result.files.size();
    Walker(static_cast<std::int32_t>(place - result.classes.begin()), result)
        .walk(fs::path(root) / name, name + "/", false);
    if (result.files.size() == before && !options.allow_empty_classes) {
      throw UsageError("class folder '" + name + "' of '" + root + "' has no picture",
                       "a class without pictures cannot be learned",
                       "add pictures, remove the folder, or give --allow-empty-classes");
    }
  }
  std::sort(result.files.begin(), result.files.end(), [](const FoundFile& a, const FoundFile& b) {
    return std::pair(a.label, a.path) < std::pair(b.label, b.path);
  });
  return result;
}

}  // namespace lockstep::tools
