#include "lockstep/base/config_changes.hpp"

#include <map>
#include <string>
#include <vector>

#include "config_file.hpp"
#include "option_table.hpp"

namespace lockstep {
namespace {

std::string shown(const std::string& text) { return text.empty() ? "(empty)" : text; }

std::vector<std::string>& list_for(ResumeRule rule, bool inside_epoch, ConfigChanges& changes) {
  switch (rule) {
    case ResumeRule::kFree:
      return changes.free;
    case ResumeRule::kWarn:
      return changes.warned;
    case ResumeRule::kBetweenEpochs:
      return inside_epoch ? changes.refused : changes.warned;
    case ResumeRule::kRefuse:
      break;
  }
  return changes.refused;
}

}  // namespace

ConfigChanges compare_configs(const RunConfig& saved, const RunConfig& now, bool inside_epoch) {
  ConfigChanges changes;
  for (const Option& option : option_table()) {
    const std::string before = option_text(saved, option);
    const std::string after = option_text(now, option);
    if (before != after) {
      list_for(option.on_resume, inside_epoch, changes)
          .push_back(option.name() + " " + shown(before) + " -> " + shown(after));
    }
  }
  return changes;
}

RunConfig config_from_text(const std::string& text, const std::string& name,
                           const Program& program) {
  RunConfig config;
  std::map<std::string, std::string> origin;
  apply_assignments(read_config_text(text, name), program.choices, config, origin);
  return config;
}

}  // namespace lockstep
