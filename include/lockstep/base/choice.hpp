#pragma once

#include <string>
#include <vector>

namespace lockstep {

/// One word that a key of the configuration may have ("sgd" of optim.name). The layer that does
/// what the word says keeps the table; the program hands it to the command line.
struct Choice {
  std::string name;
  std::string summary;  ///< one line for the help; may be empty
  /// Keys of the configuration that this word uses and another word of the table does not.
  std::vector<std::string> options{};
};

[[nodiscard]] inline std::vector<std::string> choice_names(const std::vector<Choice>& choices) {
  std::vector<std::string> names;
  names.reserve(choices.size());
  for (const Choice& choice : choices) {
    names.push_back(choice.name);
  }
  return names;
}

}  // namespace lockstep
