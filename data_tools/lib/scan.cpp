#include "lib/scan.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <span>

#include "lockstep/base/check.hpp"
#include "lockstep/base/system.hpp"
#include "lockstep/data/image_decode.hpp"

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

/// The format of a file by its first bytes; nothing when they cannot be read.
std::optional<data::ImageFormat> sniff(const fs::path& path) {
  // Whatever it may have become meanwhile, a pipe say, opening it must not wait.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return std::nullopt;
  std::array<std::uint8_t, 16> bytes{};
  const std::int64_t n = read_at(descriptor, bytes.data(), bytes.size(), 0);
  ::close(descriptor);
  if (n < 0) return std::nullopt;
  return data::detect_format(std::span(bytes).first(static_cast<std::size_t>(n)));
}

/// The name with every byte that is no printable ASCII as \xNN.
std::string escaped(const std::string& name) {
  std::string text;
  for (const char c : name) {
    std::array<char, 5> code{};
    std::snprintf(code.data(), code.size(), "\\x%02x", static_cast<unsigned char>(c));
    text += c >= ' ' && c < 127 ? std::string(1, c) : std::string(code.data());
  }
  return text;
}

void check_name(const std::string& path) {
  if (!is_utf8(path)) {
    throw UsageError("the name '" + escaped(path) + "' cannot be stored", "it is not UTF-8",
                     "rename it (convmv does it for many files), or move it away");
  }
}

[[noreturn]] void refuse(const fs::path& path, const std::error_code& error) {
  throw UsageError("cannot look at '" + path.string() + "'", error.message(),
                   "check its name, the length of its path and its rights, or move it away");
}

fs::directory_iterator open_folder(const fs::path& folder) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error) {
    throw UsageError("cannot read folder '" + folder.string() + "'", error.message(),
                     "check its name and its rights, or move it away");
  }
  return entries;
}

/// Walks the folders below the root and sorts what it meets.
class Walker {
 public:
  Walker(fs::path root, ScanResult& result) : root_(std::move(root)), result_(result) {
    open_.insert(fs::canonical(root_).string());
  }

  /// Files below root/relative as pictures of `label`; below a hidden folder all are ignored.
  void walk(const std::string& relative, std::int32_t label, bool hidden) {
    std::error_code error;
    const std::string real = fs::canonical(root_ / relative, error).string();
    if (error) refuse(root_ / relative, error);
    if (!open_.insert(real).second) {
      ++result_.ignored["link to a folder around it"];
      return;
    }
    for (const auto& entry : open_folder(root_ / relative)) {
      const std::string name = entry.path().filename().string();
      visit(entry, relative + "/" + name, label, hidden || is_hidden(name));
    }
    open_.erase(real);
  }

 private:
  void visit(const fs::directory_entry& entry, const std::string& relative, std::int32_t label,
             bool hidden) {
    std::error_code error;
    const fs::file_type type = fs::status(entry.path(), error).type();
    // A broken link, or one in a circle, stays a file: reading it will say what is wrong. What
    // cannot be looked at for another reason could be a folder full of pictures.
    if (type == fs::file_type::none && error != std::errc::too_many_symbolic_link_levels) {
      refuse(entry.path(), error);
    }
    const bool file = type == fs::file_type::regular || type == fs::file_type::not_found ||
                      type == fs::file_type::none || type == fs::file_type::unknown;
    if (type == fs::file_type::directory) {
      walk(relative, label, hidden);
    } else if (hidden) {
      ++result_.ignored["hidden"];
    } else if (!file) {
      ++result_.ignored["not a file"];
    } else if (has_picture_suffix(relative) || is_picture(entry.path())) {
      check_name(relative);
      result_.files.push_back({label, relative});
    }
  }

  /// Whether a file without a picture's suffix is a picture all the same; counts it if not.
  bool is_picture(const fs::path& path) {
    const auto format = sniff(path);
    if (format == data::ImageFormat::kJpeg || format == data::ImageFormat::kPng) return true;
    ++result_.ignored[format ? "no picture's suffix, and neither JPEG nor PNG inside"
                             : "no picture's suffix, and not readable"];
    return false;
  }

  fs::path root_;
  ScanResult& result_;
  std::set<std::string> open_;  // real paths of the folders around the current one
};

/// Names of class folders in byte order; everything else at the top is ignored and counted.
std::vector<std::string> class_folders(const std::string& root, ScanResult& result) {
  std::vector<std::string> names;
  for (const auto& entry : open_folder(root)) {
    std::error_code error;
    const std::string name = entry.path().filename().string();
    const bool folder = entry.is_directory(error);
    if (folder && !is_hidden(name)) {
      check_name(name);
      names.push_back(name);
    } else if (folder) {
      Walker(root, result).walk(name, 0, true);
    } else {
      ++result.ignored[is_hidden(name) ? "hidden" : "not in a class folder"];
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::int32_t label_of(const std::string& name, const std::vector<std::string>& classes,
                      const std::string& root) {
  const auto place = std::find(classes.begin(), classes.end(), name);
  if (place == classes.end()) {
    throw UsageError("class folder '" + name + "' of '" + root + "' is unknown",
                     "the set of --classes-from has no such class",
                     "rename or remove the folder, or pack both sets from the same classes");
  }
  return static_cast<std::int32_t>(place - classes.begin());
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
    const std::int32_t label = label_of(name, result.classes, root);
    const std::size_t before = result.files.size();
    Walker(root, result).walk(name, label, false);
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
