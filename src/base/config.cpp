#include "lockstep/base/config.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <string>
#include <string_view>

#include "lockstep/base/check.hpp"
#include "lockstep/base/wording.hpp"
#include "option_table.hpp"

namespace lockstep {
namespace {

void refuse_if(bool wrong, const std::string& problem, const std::string& why,
               const std::string& hint) {
  if (wrong) {
    throw UsageError(problem, why, hint);
  }
}

constexpr std::size_t kLongestName = 200;  // file systems end at 255 bytes

/// Why `name` is no good as the name of a run, or "". Names must survive shells, scripts and every
/// file system unquoted; bytes of UTF-8 are fine.
std::string why_no_name(const std::string& name, std::string_view marks) {
  if (name.size() > kLongestName) {
    return "it is longer than " + std::to_string(kLongestName) + " bytes";
  }
  if (name.starts_with('.') || name.starts_with('-')) {
    return std::string("it begins with '") + name.front() + "'";
  }
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool fit = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                     (byte >= 'a' && byte <= 'z') || byte >= 0x80 ||
                     marks.find(c) != std::string_view::npos;
    if (!fit) {
      return byte > ' ' && byte != 0x7F ? std::string("it contains '") + c + "'"
                                        : "it contains a space or a control character";
    }
  }
  return {};
}

void check_run_name(const RunConfig::Run& run) {
  constexpr std::string_view kMarks = "._-+=,@";
  const std::string why = why_no_name(run.name, kMarks);
  refuse_if(
      !why.empty(), "run.name: \"" + run.name + "\" cannot name a run", why,
      "use letters, digits and " + std::string(kMarks) + "; run.root says where the folder lies");
  refuse_if(run.root.empty(), "run.root is empty", "it is the folder of all runs",
            "give a folder, such as runs");
  refuse_if(run.resume.empty(), "run.resume is empty", "it says what a run goes on from",
            "give none, auto, or a checkpoint");
  refuse_if(run.resume == kResumeAuto && run.name.empty(), "run.resume = auto needs run.name",
            "it goes on with the run of that name",
            "set run.name, or name the checkpoint in run.resume");
}

void check_channels(const std::string& name, const std::vector<double>& values) {
  refuse_if(!values.empty() && values.size() != 3,
            name + " has " + std::to_string(values.size()) + " values",
            "there is one for each of the three channels",
            "give three numbers, as in 0.49, 0.48, 0.45, or none");
}

}  // namespace

void validate(const RunConfig& config) {
  check_run_name(config.run);
  check_channels("augment.mean", config.augment.mean);
  check_channels("augment.std", config.augment.std);
  refuse_if(config.train.accumulation > config.train.batch_size,
            "train.accumulation = " + std::to_string(config.train.accumulation) +
                " is more than train.batch_size = " + std::to_string(config.train.batch_size),
            "a micro-batch would hold no sample", "choose a smaller train.accumulation");
  refuse_if(config.train.early_stopping > 0 && config.data.val.empty() && config.data.holdout == 0,
            "train.early_stopping needs a validation set",
            "data.val is empty and data.holdout is 0",
            "set one of them, or train.early_stopping = 0");
  const auto& train = config.train;
  refuse_if(train.grad_norm_high > 0 && train.grad_norm_low >= train.grad_norm_high,
            "train.grad_norm_low = " + number_text(train.grad_norm_low) +
                " is not below train.grad_norm_high = " + number_text(train.grad_norm_high),
            "every gradient norm would be out of range",
            "choose a smaller train.grad_norm_low, or 0 for one of them");
  refuse_if(config.optim.nesterov && config.optim.momentum == 0, "optim.nesterov needs a momentum",
            "optim.momentum is 0", "set optim.momentum, such as 0.9, or optim.nesterov = false");
  const auto& schedule = config.schedule;
  const auto epochs = static_cast<double>(config.train.epochs);
  refuse_if(schedule.warmup_epochs > epochs,
            "schedule.warmup_epochs = " + number_text(schedule.warmup_epochs) +
                " is more than train.epochs = " + std::to_string(config.train.epochs),
            "the learning rate would never reach optim.lr",
            "choose a shorter warm-up, such as --schedule.warmup_epochs 0");
  const std::vector<double>& milestones = schedule.milestones;
  refuse_if(std::adjacent_find(milestones.begin(), milestones.end(), std::greater_equal<>()) !=
                milestones.end(),
            "schedule.milestones is not ascending", "each epoch must be later than the one before",
            "give the epochs in their order, as in 15, 25");
  refuse_if(schedule.min_lr > config.optim.lr,
            "schedule.min_lr = " + number_text(schedule.min_lr) +
                " is more than optim.lr = " + number_text(config.optim.lr),
            "the learning rate falls from optim.lr to schedule.min_lr",
            "choose a smaller schedule.min_lr");
  refuse_if(config.fault.action == "nan" && config.fault.point != "step",
            "fault.action = nan needs fault.point = step", "it spoils the loss of an update",
            "set fault.point = step");
}

std::string to_text(const RunConfig& config) {
  const RunConfig defaults;
  std::string text;
  std::string section;
  for (const Option& option : option_table()) {
    if (option.hidden && option_text(config, option) == option_text(defaults, option)) {
      continue;
    }
    if (option.section != section) {
      section = option.section;
      text += (text.empty() ? "[" : "\n[") + section + "]\n";
    }
    text += option.key + " = " + file_value_text(config, option) + "\n";
  }
  return text;
}

std::string config_hash(const RunConfig& config) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a, 64 bit
  for (const char c : to_text(config)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x00000100000001B3ULL;
  }
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), hash, 16).ptr;
  const std::string text(digits.data(), end);
  return std::string(digits.size() - text.size(), '0') + text;
}

}  // namespace lockstep
