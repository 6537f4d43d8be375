#pragma once

#include <string>
#include <vector>

namespace lockstep {

/// One `key = value` of a configuration file.
struct FileValue {
  std::string name;      ///< "section.key", an option of the table
  std::string value;     ///< quotes and comment removed
  std::string origin;    ///< "FILE:LINE"
  bool literal = false;  ///< was quoted: ${...} stays as it is
};

/// Reads a text in the format of configuration files: sections, keys, comments from `#` or `;` (at
/// the start of a line or after white space), optional double quotes (with \" \\ \n \r), `include =
/// PATH` before the first section (relative to the file). Values of included files come first.
/// Throws UsageError with file and line.
[[nodiscard]] std::vector<FileValue> read_config_text(const std::string& text,
                                                      const std::string& file);

/// Reads a file. Throws UsageError when it is missing.
[[nodiscard]] std::vector<FileValue> read_config_file(const std::string& file);

}  // namespace lockstep
