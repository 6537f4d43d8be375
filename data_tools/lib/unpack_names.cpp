#include "lib/unpack_names.hpp"

#include <algorithm>
#include <filesystem>
#include <unordered_set>

#include "lib/unpacked_list.hpp"
#include "lockstep/base/utf8.hpp"
#include "lockstep/data/picture_files.hpp"

namespace lockstep::tools {
namespace {

constexpr std::size_t kLongestName = 180;  // with a number and a suffix well within 255 bytes

bool is_refused(char c) {
  return (c >= 0 && c < ' ') || c == 127 ||
         std::string_view("/\\:*?\"<>|").find(c) != std::string_view::npos;
}

/// Names of one folder, of which no two are equal.
class Names {
 public:
  /// STEM + suffix, or with "-NUMBER" where that is taken.
  std::string add(const std::string& stem, const std::string& suffix, std::size_t number) {
    std::string name = stem + suffix;
    for (int attempt = 1; !taken_.insert(lower(name)).second; ++attempt) {
      name = stem + "-" + std::to_string(number) +
             (attempt == 1 ? "" : "-" + std::to_string(attempt)) + suffix;
    }
    return name;
  }

 private:
  static std::string lower(std::string text) {
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return text;
  }
  std::unordered_set<std::string> taken_;
};

/// The name a picture gets by its source path: "cat/deep/1.jpg" of class cat is "deep_1".
std::string stem_of(std::string source, const std::string& of_class, std::size_t id) {
  if (source.starts_with(of_class + "/")) source.erase(0, of_class.size() + 1);
  if (data::has_picture_suffix(source)) {
    source.resize(source.size() - std::filesystem::path(source).extension().string().size());
  }
  const std::string name = safe_name(source);
  return name.empty() ? "sample_" + std::to_string(id) : name;
}

}  // namespace

std::string safe_name(const std::string& text) {
  std::string name = text;
  const bool readable = is_utf8(text);
  for (char& c : name) {
    if (is_refused(c) || (!readable && static_cast<unsigned char>(c) >= 0x80)) c = '_';
  }
  if (name.starts_with('.')) name[0] = '_';
  if (name.size() > kLongestName) {
    std::size_t end = kLongestName;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) --end;
    name.resize(end);
  }
  return name;
}

std::vector<std::string> picture_files(const std::vector<std::string>& classes,
                                       const std::vector<std::int32_t>& labels,
                                       const std::vector<std::string>& sources) {
  Names folder_names;
  (void)folder_names.add(kUnpackedList, "", 0);  // the one file beside the class folders
  std::vector<std::string> folders;
  for (std::size_t label = 0; label < classes.size(); ++label) {
    const std::string name = safe_name(classes[label]);
    folders.push_back(folder_names.add(name.empty() ? "class" : name, "", label));
  }
  std::vector<Names> file_names(classes.size());
  std::vector<std::string> files;
  files.reserve(labels.size());
  for (std::size_t id = 0; id < labels.size(); ++id) {
    const auto label = static_cast<std::size_t>(labels[id]);
    const std::string stem = stem_of(sources[id], classes[label], id);
    files.push_back(folders[label] + "/" + file_names[label].add(stem, ".png", id));
  }
  return files;
}

}  // namespace lockstep::tools
