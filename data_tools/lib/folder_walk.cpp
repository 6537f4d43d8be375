#include "lib/folder_walk.hpp"

#include <filesystem>

#include "lockstep/base/check.hpp"
#include "lockstep/base/utf8.hpp"
#include "lockstep/data/picture_files.hpp"

namespace lockstep::tools {
namespace fs = std::filesystem;
namespace {

bool is_hidden(const std::string& name) { return name.starts_with("."); }

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
  Walker(ScannedRoot& root, const Sample& sample, std::vector<Sample>& files)
      : folder_(root.folder), root_(root), sample_(sample), files_(files) {
    open_.insert(fs::canonical(folder_).string());
  }

  /// Files below root/relative as pictures; below a hidden folder all are ignored.
  void walk(const std::string& relative, bool hidden) {
    std::error_code error;
    const std::string real = fs::canonical(folder_ / relative, error).string();
    if (error) refuse(folder_ / relative, error);
    if (!open_.insert(real).second) {
      ++root_.ignored["link to a folder around it"];
      return;
    }
    for (const auto& entry : open_folder(folder_ / relative)) {
      const std::string name = entry.path().filename().string();
      visit(entry, relative + "/" + name, hidden || is_hidden(name));
    }
    open_.erase(real);
  }

 private:
  void visit(const fs::directory_entry& entry, const std::string& relative, bool hidden) {
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
      walk(relative, hidden);
    } else if (hidden) {
      ++root_.ignored["hidden"];
    } else if (!file) {
      ++root_.ignored["not a file"];
    } else if (data::has_picture_suffix(relative) || is_picture(entry.path())) {
      check_name(relative);
      files_.push_back({sample_.label, root_.prefix + relative, sample_.origin});
    }
  }

  /// Whether a file without a picture's suffix is a picture all the same; counts it if not.
  bool is_picture(const fs::path& path) {
    const auto format = data::sniff_format(path.string());
    if (format == data::ImageFormat::kJpeg || format == data::ImageFormat::kPng) return true;
    ++root_.ignored[format ? "no picture's suffix, and neither JPEG nor PNG inside"
                           : "no picture's suffix, and not readable"];
    return false;
  }

  fs::path folder_;
  ScannedRoot& root_;
  const Sample& sample_;
  std::vector<Sample>& files_;
  std::set<std::string> open_;  // real paths of the folders around the current one
};

}  // namespace

std::set<std::string> class_folders(ScannedRoot& root) {
  std::set<std::string> names;
  std::vector<Sample> none;
  for (const auto& entry : open_folder(root.folder)) {
    std::error_code error;
    const std::string name = entry.path().filename().string();
    const bool folder = entry.is_directory(error);
    if (folder && !is_hidden(name)) {
      check_name(name);
      names.insert(name);
    } else if (folder) {
      Walker(root, {}, none).walk(name, true);
    } else {
      ++root.ignored[is_hidden(name) ? "hidden" : "not in a class folder"];
    }
  }
  return names;
}

void add_pictures(ScannedRoot& root, const std::string& folder, const Sample& sample,
                  std::vector<Sample>& files) {
  Walker(root, sample, files).walk(folder, false);
}

}  // namespace lockstep::tools
