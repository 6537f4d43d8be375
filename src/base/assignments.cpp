#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "config_file.hpp"
#include "lockstep/base/check.hpp"

namespace lockstep {
namespace {

/// The final assignment of each key, and the texts that `${...}` stands for.
class Resolver {
 public:
  explicit Resolver(const std::map<std::string, const Assignment*>& finals) : finals_(finals) {}

  /// The text of a key with every reference replaced.
  std::string text_of(const std::string& name) {
    const auto found = finals_.find(name);
    if (found == finals_.end()) {
      return option_text(RunConfig{}, *find_option(name));
    }
    const Assignment& assignment = *found->second;
    if (assignment.literal) {
      return assignment.text;
    }
    check_cycle(name, assignment);
    path_.push_back(name);
    std::string text = replaced(assignment);
    path_.pop_back();
    return text;
  }

 private:
  void check_cycle(const std::string& name, const Assignment& assignment) const {
    if (std::find(path_.begin(), path_.end(), name) == path_.end()) {
      return;
    }
    std::string chain;
    for (const std::string& step : path_) {
      chain += step + " -> ";
    }
    throw UsageError(assignment.what() + ": the value refers to itself", chain + name,
                     "write out one of these values");
  }

  std::string replaced(const Assignment& assignment) {
    const std::string& text = assignment.text;
    std::string result;
    std::size_t position = 0;
    for (std::size_t at = text.find("${"); at != std::string::npos;
         at = text.find("${", position)) {
      if (at > position && text[at - 1] == '$') {  // $${ is a plain ${
        result.append(text, position, at - 1 - position).append("${");
        position = at + 2;
        continue;
      }
      const std::size_t end = text.find('}', at);
      if (end == std::string::npos) {
        throw UsageError(assignment.what() + ": '" + text.substr(at) + "' has no closing brace",
                         "${section.key} refers to another value", "add }, or write $${ for ${");
      }
      const std::string name = text.substr(at + 2, end - at - 2);
      if (find_option(name) == nullptr) {
        const std::size_t dot = std::min(name.find('.'), name.size());
        throw UsageError(assignment.what() + ": '${" + name + "}' refers to an unknown key",
                         "a reference reads ${section.key}",
                         dot == name.size()
                             ? key_suggestion("", name)
                             : key_suggestion(name.substr(0, dot), name.substr(dot + 1)));
      }
      result.append(text, position, at - position).append(text_of(name));
      // A few keys that refer to each other many times would else fill the memory.
      constexpr std::size_t kLongest = 1U << 16U;
      if (result.size() > kLongest) {
        throw UsageError(assignment.what() + ": the value is longer than 64 KiB",
                         "its references stand for long texts", "write it out, shorter");
      }
      position = end + 1;
    }
    return result.append(text, position);
  }

  const std::map<std::string, const Assignment*>& finals_;
  std::vector<std::string> path_;
};

bool refers(const Assignment& assignment) {
  return !assignment.literal && assignment.text.find("${") != std::string::npos;
}

}  // namespace

std::string Assignment::what() const {
  return origin == kCommandLineOrigin ? "--" + option->name() : origin + ": " + option->name();
}

std::string Assignment::source() const {
  return origin == kCommandLineOrigin ? origin : origin.substr(0, origin.rfind(':'));
}

void apply_assignments(const std::vector<Assignment>& assignments,
                       const std::map<std::string, std::vector<Choice>>& choices, RunConfig& config,
                       std::map<std::string, std::string>& origin) {
  const auto assign = [&](const Assignment& assignment, const std::string& text) {
    const auto known = choices.find(assignment.option->name());
    if (known != choices.end()) {
      check_word(choice_names(known->second), text, assignment.what());
    }
    set_option(config, *assignment.option, text, assignment.what());
  };
  std::map<std::string, const Assignment*> finals;
  for (const Assignment& assignment : assignments) {
    if (!refers(assignment)) {
      assign(assignment, assignment.text);
    }
    finals[assignment.option->name()] = &assignment;
  }
  for (const auto& [name, assignment] : finals) {
    origin[name] = assignment->of_checkpoint ? kCheckpointOrigin : assignment->origin;
    if (refers(*assignment)) {
      assign(*assignment, Resolver(finals).text_of(name));
    }
  }
}

}  // namespace lockstep
