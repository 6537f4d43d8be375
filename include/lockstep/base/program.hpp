#pragma once

#include <map>
#include <string>
#include <vector>

#include "lockstep/base/choice.hpp"

namespace lockstep {

/// What an option is about. The option table gives each key one role, a verb names the roles that
/// it takes.
enum class OptionRole {
  kNetwork,    ///< what the weights of a checkpoint belong to
  kNumerics,   ///< how a trained network computes: number format, layout, normalisation
  kMachine,    ///< where and how a verb runs: device, threads, waiting, logging
  kInference,  ///< how a trained network is run: samples at once
  kScoring,    ///< what a model is scored on
  kTraining,   ///< all that steers training alone
};

/// An option that belongs to some verbs and is no key of the configuration: --checkpoint PATH.
struct VerbOption {
  std::string name;
  std::string placeholder;
  std::string help;
  bool repeats = false;  ///< may be given more than once
};

/// A verb of the program and what may follow it.
struct Verb {
  std::string name;
  std::string summary;  ///< one line for the help
  std::string example;  ///< lines for the help
  /// Roles that its command line and its config files may set. A key of another role is refused on
  /// the command line and passed over in a file, so that a recipe serves every verb.
  std::vector<OptionRole> takes;
  /// Roles that come from a checkpoint: over all files, under the command line.
  std::vector<OptionRole> inherits{};
  std::vector<VerbOption> options{};
  /// The option of its own that an argument without a name stands for; empty: none.
  std::string positional{};

  [[nodiscard]] bool may_set(OptionRole role) const;
  [[nodiscard]] bool gets_from_checkpoint(OptionRole role) const;
};

/// What the program adds to the option table: its verbs, and the words of the keys whose choices
/// other layers know.
struct Program {
  std::vector<Verb> verbs;
  std::map<std::string, std::vector<Choice>> choices;  ///< by key, as "model.name"

  /// The verb of that name, or null.
  [[nodiscard]] const Verb* find_verb(const std::string& name) const;
  /// Names of the verbs whose command line takes that role.
  [[nodiscard]] std::vector<std::string> verbs_that_take(OptionRole role) const;
};

}  // namespace lockstep
