#include "lib/unpacked_list.hpp"

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lockstep/base/check.hpp"

namespace lockstep::tools {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFormat = "lockstep-unpacked";

std::string line_of(const nlohmann::ordered_json& json) {
  // Source paths of sets made elsewhere need not be UTF-8.
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// The text under a key of a line; "" without one.
std::string text_in(const std::string& line, const char* key) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return {};
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// The list, opened behind its first line; not open when there is none.
std::ifstream open_list(const std::string& folder) {
  const fs::path path = fs::path(folder) / kUnpackedList;
  std::error_code error;
  std::ifstream in;
  if (!fs::is_regular_file(fs::symlink_status(path, error))) return in;
  in.open(path);
  std::string line;
  std::getline(in, line);
  if (text_in(line, "format") != kFormat) in.close();
  return in;
}

/// "CLASS/NAME.png", both as this program gives them: no list leads out of its folder.
bool is_picture_file(const std::string& file) {
  const std::size_t slash = file.find('/');
  if (slash == std::string::npos || !file.ends_with(".png")) return false;
  const std::string folder = file.substr(0, slash);
  const std::string name = file.substr(slash + 1);
  return !folder.empty() && !folder.starts_with('.') && !name.starts_with('.') &&
         name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

}  // namespace

UnpackedListWriter::UnpackedListWriter(const std::string& folder, const data::SetInfo& set)
    : path_(folder + "/" + kUnpackedList), out_(path_, std::ios::binary) {
  check();
  out_ << line_of({{"format", kFormat}, {"version", 1}, {"set_id", set.set_id}}) << '\n';
  check();
}

void UnpackedListWriter::add(std::int64_t index, std::int32_t label, const std::string& of_class,
                             const std::string& file, const std::string& source) {
  out_ << line_of({{"index", index},
                   {"label", label},
                   {"class", of_class},
                   {"file", file},
                   {"source", source}})
       << '\n';
  check();
}

void UnpackedListWriter::finish() {
  out_.close();
  check();
}

void UnpackedListWriter::check() const {
  require(out_.good(), "cannot write '" + path_ + "'", errno_text(),
          "free space or give write permission; nothing was replaced");
}

bool has_unpacked_list(const std::string& folder) { return open_list(folder).is_open(); }

std::set<std::string> listed_files(const std::string& folder) {
  std::set<std::string> files;
  std::ifstream in = open_list(folder);
  std::string line;
  while (in.is_open() && std::getline(in, line)) {
    const std::string file = text_in(line, "file");
    if (!is_picture_file(file)) break;
    files.insert(file);
  }
  return files;
}

}  // namespace lockstep::tools
