#include "lockstep/base/check.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <new>
#include <numeric>
#include <system_error>
#include <vector>

namespace lockstep {
namespace {

/// Text that may hold what a file said: on one line, control characters escaped (no commands to the
/// terminal), cut after 2,000 bytes.
void append_plain(std::string& message, std::string_view text) {
  constexpr std::size_t kLongest = 2000;
  std::size_t length = std::min(text.size(), kLongest);
  while (length < text.size() && length > 0 &&
         (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U) {
    --length;  // not within a character of UTF-8
  }
  for (const char c : text.substr(0, length)) {
    if (static_cast<unsigned char>(c) < ' ' || c == 127) {
      std::array<char, 5> code{};
      std::snprintf(code.data(), code.size(), "\\x%02x", static_cast<unsigned char>(c));
      message += code.data();
    } else {
      message += c;
    }
  }
  message += length < text.size() ? "..." : "";
}

std::string compose(std::string_view problem, std::string_view why, std::string_view hint) {
  std::string message;
  append_plain(message, problem);
  if (!why.empty()) {
    message += " (";
    append_plain(message, why);
    message += ')';
  }
  if (!hint.empty()) {
    message += " - ";
    append_plain(message, hint);
  }
  return message;
}

}  // namespace

Error::Error(std::string_view problem, std::string_view why, std::string_view hint, ExitCode code)
    : std::runtime_error(compose(problem, why, hint)), code_(code) {}

void require(bool holds, std::string_view problem, std::string_view why, std::string_view hint) {
  if (!holds) {
    throw Error(problem, why, hint);
  }
}

std::string message_of(const std::exception& error) {
  std::string text = error.what();
  if (dynamic_cast<const Error*>(&error) != nullptr) return text;
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error)) {
    return compose("cannot use '" + file->path1().string() + "'", file->code().message(),
                   "check the path and its rights");
  }
  std::string first = text.substr(0, text.find('\n'));
  if (const auto* system = dynamic_cast<const std::system_error*>(&error)) {
    return compose("the system refused a request", system->code().message(),
                   "raise its limits (see ulimit -a), or use fewer threads");
  }
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
      first.find("can't allocate memory") != text.npos ||
      first.find("out of memory") != text.npos) {
    return compose("memory ran out", first,
                   "use a smaller batch, picture or network, more accumulation, or a machine with "
                   "more memory");
  }
  return first;
}

std::string errno_text() { return std::error_code(errno, std::generic_category()).message(); }

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace lockstep
