#include <algorithm>
#include <array>

#include "lockstep/base/check.hpp"
#include "option_table.hpp"

namespace lockstep {
namespace {

std::string key_list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : " or ") + name;
  }
  return text;
}

struct OtherName {
  std::string_view name;
  std::string_view option;
};

/// What people write who come from other programs.
constexpr std::array kOtherNames{OtherName{"learning_rate", "optim.lr"},
                                 OtherName{"batch", "train.batch_size"},
                                 OtherName{"batchsize", "train.batch_size"},
                                 OtherName{"bs", "train.batch_size"},
                                 OtherName{"num_epochs", "train.epochs"},
                                 OtherName{"max_epochs", "train.epochs"},
                                 OtherName{"workers", "data.threads"},
                                 OtherName{"num_workers", "data.threads"},
                                 OtherName{"wd", "optim.weight_decay"},
                                 OtherName{"optimizer", "optim.name"},
                                 OtherName{"scheduler", "schedule.name"},
                                 OtherName{"lr_scheduler", "schedule.name"},
                                 OtherName{"warmup", "schedule.warmup_epochs"},
                                 OtherName{"arch", "model.name"},
                                 OtherName{"pretrained", "model.weights"},
                                 OtherName{"grad_clip", "train.clip_norm"},
                                 OtherName{"precision", "run.dtype"}};

}  // namespace

std::string name_elsewhere(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  const auto* const found = std::find_if(kOtherNames.begin(), kOtherNames.end(),
                                         [&](const OtherName& o) { return o.name == name; });
  return found == kOtherNames.end() ? std::string() : std::string(found->option);
}

const Option* find_option(std::string_view name) {
  for (const Option& option : option_table()) {
    if (option.name() == name) {
      return &option;
    }
  }
  return nullptr;
}

std::vector<std::string> option_sections() {
  std::vector<std::string> sections;
  for (const Option& option : option_table()) {
    if (sections.empty() || sections.back() != option.section) {
      sections.push_back(option.section);
    }
  }
  return sections;
}

std::string key_suggestion(const std::string& section, const std::string& key) {
  std::vector<std::string> elsewhere;
  std::vector<std::string> keys_of_section;
  std::vector<std::string> names;
  std::vector<std::string> keys;
  for (const Option& option : option_table()) {
    if (option.key == key && option.section != section) {
      elsewhere.push_back(option.name());
    }
    if (option.section == section) {
      keys_of_section.push_back(option.key);
    }
    if (!option.hidden) {
      names.push_back(option.name());
      keys.push_back(option.key);
    }
  }
  std::string found = key_list(elsewhere);
  if (found.empty()) {
    found = name_elsewhere(key);
  }
  if (found.empty()) {
    // A shortened key ("batch") is far from the whole one by letters, yet names it.
    const auto whole = std::find_if(keys_of_section.begin(), keys_of_section.end(),
                                    [&](const std::string& k) { return k.starts_with(key); });
    const std::string near = whole == keys_of_section.end() || key.size() < 2
                                 ? nearest_name(key, keys_of_section)
                                 : *whole;
    found = near.empty() ? nearest_name(section + "." + key, names) : section + "." + near;
  }
  if (found.empty()) {
    const std::string near = nearest_name(key, keys);
    found = near.empty() ? near
                         : names[static_cast<std::size_t>(
                               std::find(keys.begin(), keys.end(), near) - keys.begin())];
  }
  return found.empty() ? "see --help for all keys" : "did you mean " + found + "?";
}

}  // namespace lockstep
