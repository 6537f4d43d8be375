#include "config_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>

#include "lockstep/base/check.hpp"
#include "option_table.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

std::string trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return std::string(text);
}

std::string without_comment(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((text[i] == '#' || text[i] == ';') && (i == 0 || is_space(text[i - 1]))) {
      return text.substr(0, i);
    }
  }
  return text;
}

/// Reads one file; knows where it is for its errors.
class Reader {
 public:
  Reader(std::string file, std::vector<std::string>& open_files)
      : file_(std::move(file)), open_files_(open_files) {}

  std::vector<FileValue> read(const std::string& text) {
    std::istringstream lines(text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text);
    std::string line;
    while (std::getline(lines, line)) {
      ++line_;
      const std::string content = trimmed(line);
      if (content.empty() || content.front() == '#' || content.front() == ';') {
        continue;
      }
      content.front() == '[' ? read_section(content) : read_value(content);
    }
    return std::move(values_);
  }

 private:
  [[nodiscard]] std::string where() const { return file_ + ":" + std::to_string(line_); }

  void read_section(const std::string& content) {
    const std::string bare = trimmed(without_comment(content));
    if (bare.back() != ']') {
      throw UsageError(where() + ": the section is not closed", "'" + bare + "' has no ]",
                       "write [section]");
    }
    section_ = trimmed(std::string_view(bare).substr(1, bare.size() - 2));
    const std::vector<std::string> sections = option_sections();
    if (std::find(sections.begin(), sections.end(), section_) == sections.end()) {
      const std::string nearest = nearest_name(section_, sections);
      throw UsageError(
          where() + ": unknown section [" + section_ + "]", "no option stands in it",
          nearest.empty() ? "see --help for the sections" : "did you mean [" + nearest + "]?");
    }
  }

  void read_value(const std::string& content) {
    const std::size_t equals = content.find('=');
    if (equals == std::string::npos) {
      throw UsageError(where() + ": '" + content + "' is no setting",
                       "it has no =", "write key = value, or # before a comment");
    }
    const std::string key = trimmed(std::string_view(content).substr(0, equals));
    FileValue value;
    value.origin = where();
    unquote(trimmed(std::string_view(content).substr(equals + 1)), value);
    if (section_.empty()) {
      if (key != "include") {
        throw UsageError(where() + ": '" + key + "' stands in no section",
                         "only include may stand before the first section",
                         key_suggestion("", key));
      }
      include(value.value);
      return;
    }
    value.name = section_ + "." + key;
    if (find_option(value.name) == nullptr) {
      throw UsageError(where() + ": unknown key " + value.name, "there is no such option",
                       key_suggestion(section_, key));
    }
    const auto [first, is_new] = seen_.emplace(value.name, line_);
    if (!is_new) {
      throw UsageError(where() + ": " + value.name + " is set twice",
                       "first in line " + std::to_string(first->second), "keep one of the two");
    }
    values_.push_back(std::move(value));
  }

  void unquote(const std::string& text, FileValue& value) const {
    if (text.empty() || text.front() != '"') {
      value.value = trimmed(without_comment(text));
      return;
    }
    value.literal = true;
    std::size_t i = 1;
    for (; i < text.size() && text[i] != '"'; ++i) {
      char c = text[i];
      if (c == '\\' && i + 1 < text.size()) {
        c = text[++i];
        c = c == 'n' ? '\n' : c == 'r' ? '\r' : c;
      }
      value.value += c;
    }
    const std::string rest = i < text.size() ? trimmed(text.substr(i + 1)) : "\"";
    if (!rest.empty() && rest.front() != '#' && rest.front() != ';') {
      throw UsageError(where() + ": the quotes do not fit", "the value is " + text,
                       "close the quotes and write nothing behind them");
    }
  }

  void include(const std::string& path) {
    const fs::path target = fs::path(file_).parent_path() / path;
    const std::string canonical = fs::weakly_canonical(target).string();
    if (std::count(open_files_.begin(), open_files_.end(), canonical) > 0) {
      throw UsageError(where() + ": include runs in a circle", "'" + path + "' is being read",
                       "take one of the includes out");
    }
    std::ifstream in(target, std::ios::binary);
    std::ostringstream text;
    if (fs::is_directory(target) || !in || !(text << in.rdbuf())) {
      throw UsageError(where() + ": cannot read included file '" + target.string() + "'",
                       "it is missing or empty, or may not be read",
                       "includes are relative to the file that names them");
    }
    open_files_.push_back(canonical);
    std::vector<FileValue> included = Reader(target.string(), open_files_).read(text.str());
    open_files_.pop_back();
    values_.insert(values_.end(), included.begin(), included.end());
  }

  std::string file_;
  std::vector<std::string>& open_files_;
  int line_ = 0;
  std::string section_;
  std::map<std::string, int> seen_;
  std::vector<FileValue> values_;
};

}  // namespace

std::vector<FileValue> read_config_text(const std::string& text, const std::string& file) {
  std::vector<std::string> open_files{fs::weakly_canonical(file).string()};
  return Reader(file, open_files).read(text);
}

std::vector<FileValue> read_config_file(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in || fs::is_directory(file)) {
    throw UsageError("cannot read config file '" + file + "'",
                     fs::is_directory(file) ? "it is a folder" : errno_text(),
                     "check the path given with --config");
  }
  std::ostringstream text;
  text << in.rdbuf();
  return read_config_text(text.str(), file);
}

}  // namespace lockstep
