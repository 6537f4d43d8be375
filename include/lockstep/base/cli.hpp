#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lockstep/base/config.hpp"

namespace lockstep {

/// What a command line asked for. The first argument is the verb.
struct CommandLine {
  std::string verb;  ///< "train", "evaluate", ...; empty with --help or --version alone
  bool help = false;
  bool version = false;
  bool print_config = false;
  bool list_options = false;              ///< hidden: one key per line, for tests
  std::string checkpoint;                 ///< --checkpoint (evaluate)
  std::vector<std::string> config_files;  ///< --config, in the order given
  RunConfig config;
  /// Where each key's value came from: "default", "FILE:LINE" or "command line".
  std::map<std::string, std::string> origin;
};

/// `args` are the arguments after the program's name. Relations between values are left to
/// validate(). Reads `[section] key = value` files in order, then `--section.key value` (or =value)
/// of the command line; later wins. `base_text`, when not empty, is a config text (from a
/// checkpoint) that lies under all files. Throws UsageError with file, line and nearest name. Paths
/// stay as written.
[[nodiscard]] CommandLine parse_command_line(const std::vector<std::string>& args,
                                             const std::vector<std::string>& verbs,
                                             const std::string& base_text = {},
                                             const std::string& base_name = {});

/// The help of the program: verbs (each line "verb  summary", two spaces or more between), then
/// every option by section with default and allowed values, then the exit codes.
[[nodiscard]] std::string help_text(const std::vector<std::string>& verb_lines);

/// Every key with its value and origin, one a line, by section (--print-config).
[[nodiscard]] std::string print_config_text(const CommandLine& command_line);

/// All keys "section.key" of the option table, hidden ones too.
[[nodiscard]] std::vector<std::string> option_keys();

/// Strict numbers: the whole text, C locale, no hex, no suffix, finite. Throws UsageError naming
/// `what`. 1e-3 and .1 are numbers; "1,5", "0x10", "10k", "", " 1" are not.
[[nodiscard]] double parse_double(const std::string& text, const std::string& what);
[[nodiscard]] std::int64_t parse_int(const std::string& text, const std::string& what);
/// true/false/yes/no/on/off/1/0, any letter case.
[[nodiscard]] bool parse_bool(const std::string& text, const std::string& what);

}  // namespace lockstep
