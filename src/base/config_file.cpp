#include "config_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "lockstep/base/check.hpp"
#include "lockstep/base/cli.hpp"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

bool is_space(char c) { return c == ' ' || c == '\t'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_space(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

std::string_view without_comment(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if ((line[i] == '#' || line[i] == ';') && (i == 0 || is_space(line[i - 1]))) {
      return line.substr(0, i);
    }
  }
  return line;
}

std::string nearest_file(const std::string& path) {
  const fs::path wanted(path);
  std::vector<std::string> names;
  std::error_code ignored;
  const fs::path folder = wanted.has_parent_path() ? wanted.parent_path() : fs::path(".");
  for (fs::directory_iterator it(folder, ignored), end; !ignored && it != end;
       it.increment(ignored)) {
    names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  const std::string name = nearest_name(wanted.filename().string(), names);
  return name.empty() ? name : (wanted.parent_path() / name).string();
}

/// `from` is "" or "FILE:LINE: " of the line that includes it.
std::string file_text(const std::string& path, const std::string& from) {
  const std::string problem = from + "cannot read the config file '" + path + "'";
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    throw UsageError(problem, "it is a folder", "name a file in it");
  }
  // Devices and pipes have no end, or wait for a writer.
  constexpr std::uintmax_t kLargest = 1U << 20U;
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {
    throw UsageError(problem, "it is not a regular file", "name a file");
  }
  if (fs::is_regular_file(path, ignored) && fs::file_size(path, ignored) > kLargest) {
    throw UsageError(problem, "it has more than 1 MiB", "name a file of [section] and key = value");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const std::string why = errno_text();
    const std::string near = nearest_file(path);
    throw UsageError(problem, why,
                     near.empty() ? "check the path; relative paths count from " +
                                        std::string(from.empty() ? "the working directory"
                                                                 : "the including file")
                                  : "did you mean " + near + "?");
  }
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (text.find('\0') != std::string::npos) {
    throw UsageError(problem, "it is not a text file", "give a file of [section] and key = value");
  }
  return text;
}

class Reader {
 public:
  explicit Reader(bool may_include) : may_include_(may_include) {}

  std::vector<Assignment> take() { return std::move(assignments_); }

  void read_file(const std::string& path, const std::string& from) {
    std::error_code ignored;
    fs::path identity = fs::weakly_canonical(path, ignored);
    if (std::find(open_.begin(), open_.end(), identity) != open_.end()) {
      throw UsageError(from + "'" + path + "' includes itself", "an include cycle",
                       "remove one of the include lines");
    }
    constexpr std::size_t kDeepest = 32;
    constexpr int kMost = 1000;
    if (open_.size() == kDeepest || ++files_ > kMost) {
      throw UsageError(from + "'" + path + "' is not included",
                       "includes go " + std::to_string(kDeepest) + " files deep, to " +
                           std::to_string(kMost) + " files in all",
                       "write the values into fewer files");
    }
    const std::string text = file_text(path, from);
    open_.push_back(std::move(identity));
    read_text(text, path);
    open_.pop_back();
  }

  void read_text(std::string_view text, const std::string& name) {
    if (text.starts_with("\xEF\xBB\xBF")) {
      text.remove_prefix(3);
    }
    File file{name, 0, "", {}};
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line.ends_with('\r')) {
        line.remove_suffix(1);
      }
      ++file.line;
      read_line(trimmed(line), file);
    }
  }

 private:
  struct File {
    std::string name;
    int line = 0;
    std::string section;
    std::map<const Option*, int> seen;  ///< line of each key
    [[nodiscard]] std::string place() const { return name + ":" + std::to_string(line); }
  };

  void read_line(std::string_view line, File& file) {
    if (trimmed(without_comment(line)).empty()) {
      return;
    }
    if (line.front() == '[') {
      open_section(trimmed(without_comment(line)), file);
      return;
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      throw UsageError(file.place() + ": cannot read '" + std::string(line) + "'",
                       "neither [section] nor key = value",
                       "write key = value, or # for a comment");
    }
    const std::string key(trimmed(line.substr(0, equals)));
    Assignment assignment;
    assignment.origin = file.place();
    read_value(trimmed(line.substr(equals + 1)),
               equals + 1 < line.size() && is_space(line[equals + 1]), assignment);
    if (key == "include") {
      include(assignment.text, file);
      return;
    }
    assignment.option = known_option(key, assignment.text, file);
    const auto [previous, is_new] = file.seen.emplace(assignment.option, file.line);
    if (!is_new) {
      throw UsageError(file.place() + ": " + assignment.option->name() + " is given twice",
                       "first in line " + std::to_string(previous->second),
                       "remove one of the two lines");
    }
    assignments_.push_back(std::move(assignment));
  }

  static void open_section(std::string_view line, File& file) {
    if (line.back() != ']') {
      throw UsageError(file.place() + ": cannot read '" + std::string(line) + "'",
                       "a section ends with ]", "write [name] alone on its line");
    }
    file.section = std::string(trimmed(line.substr(1, line.size() - 2)));
    const std::vector<std::string> sections = option_sections();
    if (std::count(sections.begin(), sections.end(), file.section) == 0) {
      const std::string near = nearest_name(file.section, sections);
      throw UsageError(
          file.place() + ": unknown section [" + file.section + "]", "no option belongs to it",
          near.empty() ? "see --help for all sections" : "did you mean [" + near + "]?");
    }
  }

  /// `after_space`: white space stands between the equals sign and the value.
  static void read_value(std::string_view text, bool after_space, Assignment& assignment) {
    if (!text.starts_with('"')) {
      const bool only_comment = after_space && (text.starts_with('#') || text.starts_with(';'));
      // A value that begins with # right after the equals sign is no comment: skip that character.
      const std::size_t skip = !after_space && !text.empty() ? 1 : 0;
      assignment.text = only_comment ? std::string()
                                     : std::string(text.substr(0, skip)) +
                                           std::string(without_comment(text.substr(skip)));
      assignment.text = std::string(trimmed(assignment.text));
      return;
    }
    assignment.literal = true;
    std::size_t i = 1;
    for (; i < text.size() && text[i] != '"'; ++i) {
      if (text[i] == '\\' && i + 1 < text.size()) {
        ++i;
        const char c = text[i];
        assignment.text += c == 'n' ? '\n' : c == 'r' ? '\r' : c;
      } else {
        assignment.text += text[i];
      }
    }
    if (i == text.size()) {
      throw UsageError(assignment.origin + ": the value has no closing quote", std::string(text),
                       "end it with \"");
    }
    const std::string_view rest = text.substr(i + 1);
    if (!trimmed(without_comment(rest)).empty()) {
      throw UsageError(assignment.origin + ": cannot read '" + std::string(trimmed(rest)) + "'",
                       "it follows the closing quote", "write \\\" for a quote inside the value");
    }
  }

  void include(const std::string& path, const File& file) {
    if (!file.section.empty()) {
      throw UsageError(file.place() + ": include stands below [" + file.section + "]",
                       "includes come before all sections", "move the line to the top of the file");
    }
    if (path.empty()) {
      throw UsageError(file.place() + ": include names no file", "the value is empty",
                       "write include = other.cfg");
    }
    require_no_tilde(path, file.place() + ": include");
    if (!may_include_) {
      throw UsageError(file.place() + ": a saved configuration includes nothing",
                       "it would be what another file says today",
                       "use a checkpoint written by this program");
    }
    const fs::path target = (fs::path(file.name).parent_path() / path).lexically_normal();
    read_file(target.string(), file.place() + ": ");
  }

  static const Option* known_option(const std::string& key, const std::string& value,
                                    const File& file) {
    // As the command line has it: section and key in one.
    const Option* whole = find_option(key);
    std::string two_lines;
    if (whole != nullptr) {
      two_lines =
          (whole->section == file.section ? "write "
                                          : "write [" + whole->section + "] above it and ") +
          whole->key + " = " + value;
    }
    if (file.section.empty()) {
      throw UsageError(file.place() + ": '" + key + "' stands before the first [section]",
                       "only include lines may",
                       whole == nullptr ? key_suggestion("", key) : two_lines);
    }
    if (whole != nullptr) {
      throw UsageError(file.place() + ": unknown key '" + key + "' in [" + file.section + "]",
                       "a key of a file has no section in its name", two_lines);
    }
    if (const Option* option = find_option(file.section + "." + key)) {
      return option;
    }
    throw UsageError(file.place() + ": unknown key '" + key + "' in [" + file.section + "]",
                     "no option has this name", key_suggestion(file.section, key));
  }

  bool may_include_;
  std::vector<Assignment> assignments_;
  std::vector<fs::path> open_;  ///< files being read, outermost first
  int files_ = 0;               ///< read so far
};

}  // namespace

std::vector<Assignment> read_config_file(const std::string& path) {
  Reader reader(true);
  reader.read_file(path, "");
  return reader.take();
}

std::vector<Assignment> read_config_text(const std::string& text, const std::string& name) {
  Reader reader(false);
  reader.read_text(text, name);
  return reader.take();
}

}  // namespace lockstep
