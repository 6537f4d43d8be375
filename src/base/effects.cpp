#include "effects.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "lockstep/base/check.hpp"

namespace lockstep {
namespace {

/// A key that has no effect because of the value of another.
struct Idle {
  std::string key;
  std::string because;  ///< the other key
  std::string why;
  std::string hint;  ///< how the key would have an effect
};

/// Keys that belong to other words than the one `chosen` for `key`.
void add_idle_of_choice(const std::string& key, const std::vector<Choice>& choices,
                        const std::string& chosen, std::vector<Idle>& idle) {
  std::map<std::string, std::string> users;  // the words that use a key: "sgd or adamw"
  std::set<std::string> used;
  for (const Choice& choice : choices) {
    for (const std::string& option : choice.options) {
      std::string& text = users[option];
      text += (text.empty() ? "" : " or ") + choice.name;
      if (choice.name == chosen) {
        used.insert(option);
      }
    }
  }
  for (const auto& [option, words] : users) {
    if (used.count(option) == 0) {
      idle.push_back({option, key, "it belongs to " + words, "choose " + key + " = " + words});
    }
  }
}

/// Every key that has no effect in `config`, whether it was given or not.
std::vector<Idle> idle_keys(const Program& program, const RunConfig& config) {
  std::vector<Idle> idle;
  for (const auto& [key, choices] : program.choices) {
    add_idle_of_choice(key, choices, option_text(config, *find_option(key)), idle);
  }
  if (config.model.weights.empty()) {
    idle.push_back(
        {"model.weights_strict", "model.weights", "no file is read", "set model.weights"});
  }
  if (config.run.device == "cpu") {
    idle.push_back(
        {"run.deterministic", "run.device", "a CPU always is", "choose another run.device"});
  }
  if (config.augment.crop_padding == 0) {
    idle.push_back({"augment.crop_mode", "augment.crop_padding", "nothing is added to the pictures",
                    "set augment.crop_padding"});
  }
  if (config.schedule.warmup_epochs == 0) {
    idle.push_back({"schedule.warmup_start", "schedule.warmup_epochs", "there is no warm-up",
                    "set schedule.warmup_epochs"});
  }
  if (config.optim.weight_decay == 0) {
    idle.push_back({"optim.decay_norm_and_bias", "optim.weight_decay", "nothing decays",
                    "set optim.weight_decay"});
  }
  if (!config.data.val.empty()) {
    const std::string why = "nothing is held out of data.train";
    if (config.data.holdout > 0) {
      idle.push_back({"data.holdout", "data.val", why, "leave out data.val"});
    }
    idle.push_back({"data.holdout_seed", "data.val", why, "leave out data.val"});
  } else if (config.data.holdout == 0) {
    idle.push_back({"data.holdout_seed", "data.holdout", "nothing is held out of data.train",
                    "set data.holdout"});
  }
  return idle;
}

struct Given {
  const Assignment* assignment = nullptr;
  int layer = 0;  ///< 0: not given
};

/// The last assignment of each key and its layer: one a file, then the command line.
std::map<std::string, Given> last_given(const std::vector<Assignment>& assignments) {
  std::map<std::string, Given> given;
  std::string source;
  int layer = 0;
  for (const Assignment& assignment : assignments) {
    if (layer == 0 || assignment.source() != source) {
      ++layer;
      source = assignment.source();
    }
    given[assignment.option->name()] = {&assignment, layer};
  }
  return given;
}

}  // namespace

void drop_ineffective(const Program& program, const std::vector<Assignment>& assignments,
                      CommandLine& result) {
  const RunConfig defaults;
  const std::map<std::string, Given> given = last_given(assignments);
  for (const Idle& idle : idle_keys(program, result.config)) {
    const auto found = given.find(idle.key);
    if (found == given.end() || result.origin.count(idle.key) == 0) {
      continue;
    }
    const Assignment& assignment = *found->second.assignment;
    const Option& option = *assignment.option;
    // The config.cfg of a run holds every key, those without effect at their defaults.
    const bool at_default = option_text(result.config, option) == option_text(defaults, option);
    if (assignment.origin != kCommandLineOrigin && at_default) {
      continue;
    }
    const Option& cause = *find_option(idle.because);
    const std::string with = idle.because + " = " + option_text(result.config, cause);
    const auto chosen = given.find(idle.because);
    if (found->second.layer >= (chosen == given.end() ? 0 : chosen->second.layer)) {
      throw UsageError(assignment.what() + " has no effect with " + with, idle.why,
                       "leave it out, or " + idle.hint);
    }
    result.ignored.push_back(assignment.what() + " = " + option_text(result.config, option) +
                             " has no effect with " + with);
    reset_option(result.config, option);
    result.origin[idle.key] =
        std::string(kDefaultOrigin) + " (" + assignment.origin + " has no effect)";
  }
}

}  // namespace lockstep
