#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lockstep/base/config.hpp"
#include "lockstep/base/program.hpp"

namespace lockstep {

/// What a command line asked for. The first argument is the verb.
struct CommandLine {
  std::string verb;  ///< "train", "evaluate", ...; empty with --help or --version alone
  bool help = false;
  bool version = false;
  bool print_config = false;
  bool list_options = false;  ///< hidden: one key per line, for tests
  /// Options of the verb's own ("checkpoint") and what they were given, in order.
  std::map<std::string, std::vector<std::string>> verb_options;
  std::vector<std::string> config_files;  ///< --config, in the order given
  /// Keys that the verb does not use, and those that have no effect, are at their defaults.
  RunConfig config;
  /// Where the value of each key that the verb uses came from: "default", "FILE:LINE", "checkpoint"
  /// or "command line".
  std::map<std::string, std::string> origin;
  /// Keys of lower layers that the rest of the configuration leaves without effect, one line each.
  std::vector<std::string> ignored;

  /// All values of an option of the verb's own.
  [[nodiscard]] std::vector<std::string> verb_values(const std::string& name) const;
  /// The value of one that is given once; empty when it is not given.
  [[nodiscard]] std::string verb_value(const std::string& name) const;
};

/// `args` are the arguments after the program's name. Relations between values are left to
/// validate(). Layers, later wins: files of `[section] key = value` in their order, the checkpoint,
/// `--section.key value` (or =value) of the command line. `checkpoint_config`, when not empty, is
/// the config text of a checkpoint, of which the verb takes the roles that it inherits;
/// `checkpoint_name` names it in errors. Throws UsageError with file, line and nearest name. Paths
/// stay as written.
///
/// A key has no effect when the value of another key says so (optim.momentum with optim.name =
/// adamw). It is refused on the command line, and in a file that also gave that other value or lies
/// above it, unless it is at its default there; in a layer below, it goes to `ignored`.
[[nodiscard]] CommandLine parse_command_line(const std::vector<std::string>& args,
                                             const Program& program,
                                             const std::string& checkpoint_config = {},
                                             const std::string& checkpoint_name = {});

/// The help of the program (verbs and their options), or of one verb (its own options); then every
/// option (that the verb takes) by section with default and allowed values, then the exit codes.
[[nodiscard]] std::string help_text(const Program& program, const std::string& verb = {});

/// Every key that the verb uses with its value and origin, one a line, by section (--print-config).
[[nodiscard]] std::string print_config_text(const CommandLine& command_line);

/// All keys "section.key" of the option table, hidden ones too.
[[nodiscard]] std::vector<std::string> option_keys();

/// Strict numbers: the whole text, C locale, no hex, no suffix, finite. Throws UsageError naming
/// `what`. 1e-3 and .1 are numbers; "1,5", "0x10", "10k", "", " 1" are not.
[[nodiscard]] double parse_double(const std::string& text, const std::string& what);
[[nodiscard]] std::int64_t parse_int(const std::string& text, const std::string& what);
/// true/false/yes/no/on/off/1/0, any letter case.
[[nodiscard]] bool parse_bool(const std::string& text, const std::string& what);

/// Throws UsageError for a path "~" or "~/...": a shell that did not expand it (--data.train=~/set)
/// or a file meant the home folder, and a folder named ~ would be used. `what` as above.
void require_no_tilde(const std::string& path, const std::string& what);

}  // namespace lockstep
