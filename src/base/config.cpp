#include "lockstep/base/config.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "lockstep/base/check.hpp"
#include "option_table.hpp"

namespace lockstep {
namespace {

void check_run_name(const std::string& name) {
  const bool odd = name == "." || name == ".." || name.find('/') != std::string::npos ||
                   std::any_of(name.begin(), name.end(),
                               [](char c) { return static_cast<unsigned char>(c) < ' '; });
  if (odd) {
    throw UsageError("run.name '" + name + "' cannot be a folder", "it is one folder in run.root",
                     "use letters, digits, - and _, and give the place with run.root");
  }
}

void check_channels(const std::vector<double>& values, const std::string& key, bool positive) {
  if (!values.empty() && values.size() != 3) {
    throw UsageError(key + " has " + std::to_string(values.size()) + " values",
                     "pictures have three channels",
                     "give three (red, green, blue), or leave it empty to use the training set's");
  }
  if (positive && std::any_of(values.begin(), values.end(), [](double x) { return x <= 0; })) {
    throw UsageError(key + " has a value that is not above 0", "pictures are divided by it",
                     "give three standard deviations of values between 0 and 1");
  }
}

}  // namespace

void validate(const RunConfig& config) {
  check_run_name(config.run.name);
  check_channels(config.augment.mean, "augment.mean", false);
  check_channels(config.augment.std, "augment.std", true);
  if (config.optim.name == "sgd" && config.optim.nesterov && config.optim.momentum <= 0) {
    throw UsageError("optim.nesterov=true has no effect", "optim.momentum is 0",
                     "set optim.momentum (0.9, say) or optim.nesterov=false");
  }
  if (config.train.accumulation > config.train.batch_size) {
    throw UsageError(
        "train.accumulation=" + std::to_string(config.train.accumulation) + " is too large",
        "an update has train.batch_size=" + std::to_string(config.train.batch_size) + " samples",
        "use at most one micro-batch per sample");
  }
  if (config.schedule.min_lr > config.optim.lr) {
    throw UsageError("schedule.min_lr is above optim.lr", "the rate falls from optim.lr to it",
                     "lower schedule.min_lr");
  }
}

std::string to_text(const RunConfig& config) {
  const RunConfig defaults;
  std::string text;
  for (const std::string& section : option_sections()) {
    std::string lines;
    bool hidden = false;
    bool changed = false;
    for (const Option& option : option_table()) {
      if (option.section == section) {
        const std::string value = file_value_text(config, option);
        hidden = hidden || option.hidden;
        changed = changed || value != file_value_text(defaults, option);
        lines += option.key + " = " + value + "\n";
      }
    }
    if (!hidden || changed) {
      text += (text.empty() ? "[" : "\n[") + section + "]\n" + lines;
    }
  }
  return text;
}

std::string config_hash(const RunConfig& config) {
  const std::string text = to_text(config);
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(text.data(), text.size())));
  return digits.data();
}

}  // namespace lockstep
