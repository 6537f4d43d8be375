#pragma once

#include <regex.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace lockstep::report {

/// The groups of a POSIX extended regular expression that matches the whole text, the text itself
/// first; empty without a match. (GCC 12 cannot compile std::regex under ASan without warnings.)
inline std::vector<std::string> match(const std::string& text, const std::string& pattern) {
  constexpr std::size_t kGroups = 4;
  regex_t compiled;
  if (::regcomp(&compiled, ("^" + pattern + "$").c_str(), REG_EXTENDED) != 0) {
    throw std::invalid_argument("no regular expression: " + pattern);
  }
  std::array<regmatch_t, kGroups> places{};
  std::vector<std::string> groups;
  if (::regexec(&compiled, text.c_str(), kGroups, places.data(), 0) == 0) {
    for (const regmatch_t& place : places) {
      groups.push_back(place.rm_so < 0
                           ? std::string()
                           : text.substr(static_cast<std::size_t>(place.rm_so),
                                         static_cast<std::size_t>(place.rm_eo - place.rm_so)));
    }
  }
  ::regfree(&compiled);
  return groups;
}

}  // namespace lockstep::report
