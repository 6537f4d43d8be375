#include "lockstep/base/program.hpp"

#include <algorithm>

namespace lockstep {

bool Verb::may_set(OptionRole role) const {
  return std::find(takes.begin(), takes.end(), role) != takes.end();
}

bool Verb::gets_from_checkpoint(OptionRole role) const {
  return std::find(inherits.begin(), inherits.end(), role) != inherits.end();
}

const Verb* Program::find_verb(const std::string& name) const {
  const auto found =
      std::find_if(verbs.begin(), verbs.end(), [&](const Verb& verb) { return verb.name == name; });
  return found == verbs.end() ? nullptr : &*found;
}

std::vector<std::string> Program::verbs_that_take(OptionRole role) const {
  std::vector<std::string> names;
  for (const Verb& verb : verbs) {
    if (verb.may_set(role)) {
      names.push_back(verb.name);
    }
  }
  return names;
}

}  // namespace lockstep
