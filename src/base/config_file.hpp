#pragma once

#include <map>
#include <string>
#include <vector>

#include "option_table.hpp"

namespace lockstep {

/// One value given to a key, as text, with the place that gave it.
struct Assignment {
  const Option* option = nullptr;
  std::string text;
  bool literal = false;  ///< quoted: `${...}` in it means itself
  std::string origin;    ///< "FILE:LINE" or "command line"
  bool of_checkpoint = false;

  /// How errors name it: "FILE:LINE: section.key" or "--section.key".
  [[nodiscard]] std::string what() const;
  /// The file, or "command line".
  [[nodiscard]] std::string source() const;
};

inline constexpr const char* kCommandLineOrigin = "command line";
inline constexpr const char* kCheckpointOrigin = "checkpoint";
inline constexpr const char* kDefaultOrigin = "default";

/// Reads a config file and, before it, what it includes. Format: `include = path` lines (relative
/// to the file), then `[section]` and `key = value` lines; comments start with # or ; at the
/// beginning of a line or after white space; a value in double quotes is taken literally, with \"
/// \\ \n \r. Throws UsageError with file and line.
[[nodiscard]] std::vector<Assignment> read_config_file(const std::string& path);

/// As read_config_file, of a text of one piece that `name` stands for: an include line is an error.
[[nodiscard]] std::vector<Assignment> read_config_text(const std::string& text,
                                                       const std::string& name);

/// Applies the assignments in order, later ones over earlier ones, and resolves `${section.key}` to
/// the final text of that key (`$${` is a plain `${`). Every assignment is checked, overridden ones
/// too, unless it refers to others; `choices` are those of the Program. `origin` gets the origin of
/// each key that was assigned.
void apply_assignments(const std::vector<Assignment>& assignments,
                       const std::map<std::string, std::vector<Choice>>& choices, RunConfig& config,
                       std::map<std::string, std::string>& origin);

}  // namespace lockstep
