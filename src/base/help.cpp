#include <algorithm>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lockstep/base/build_info.hpp"
#include "lockstep/base/cli.hpp"
#include "option_table.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kWidth = 98;
constexpr std::size_t kHelpColumn = 36;

constexpr std::string_view kExamples =
    R"(Train image classifiers on one machine or a cluster, one process (rank) per GPU or CPU share.

Usage: lockstep VERB [--config FILE]... [--section.key VALUE]...

  lockstep train --config configs/cifar_cnn.cfg --data.train shards/train
  mpirun -np 4 lockstep train --config configs/cifar_cnn.cfg --data.train shards/train \
      --data.test shards/test --train.epochs 20
  mpirun -np 4 lockstep evaluate --checkpoint runs/NAME/checkpoints/best --data.test shards/test

Verbs:
)";

constexpr std::string_view kFiles = R"(
A config file holds "[section]" and "key = value" lines; "include = FILE" at its top reads another
first. The last value given wins: files in their order, then the command line. "${section.key}"
stands for another value. Relative paths count from the working directory, those of include from
the including file. Brackets show the default and what is allowed.
)";

constexpr std::string_view kExitCodes = R"(
Exit codes:
   0  done
   1  the run failed
   2  wrong use or wrong configuration
  85  saved and stopped on request, go on later
)";

/// A space at which no line may end, until the text is laid out.
constexpr char kFixedSpace = '\x1F';

/// `text` in lines of at most kWidth, from the help column on; the first one follows `head`.
std::string hanging(std::string head, std::string_view text) {
  if (head.size() + 2 > kHelpColumn) {
    head += "\n";
    head.append(kHelpColumn, ' ');
  } else {
    head.resize(kHelpColumn, ' ');
  }
  std::string result;
  std::string line = std::move(head);
  std::size_t used = kHelpColumn;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (!first && used + 1 + end > kWidth) {
      result += line + "\n";
      line.assign(kHelpColumn, ' ');
      used = kHelpColumn;
      first = true;
    }
    line.append(first ? "" : " ").append(text.substr(0, end));
    used += (first ? 0 : 1) + end;
    first = false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  result += line + "\n";
  std::replace(result.begin(), result.end(), kFixedSpace, ' ');
  return result;
}

std::string allowed_text(const Option& option) {
  std::string text;
  for (const std::string& word : option.words) {
    text += (text.empty() ? "" : "|") + word;
  }
  if (std::holds_alternative<Binding<bool>>(option.value)) {
    return "true|false";
  }
  return text.empty() ? option.range.text() : text;
}

std::string option_help(const Option& option) {
  const std::string value = option_text(RunConfig{}, option);
  const std::string allowed = allowed_text(option);
  std::string values = "[" + (value.empty() ? std::string("empty") : value) +
                       (allowed.empty() ? "" : "; " + allowed) + "]";
  std::replace(values.begin(), values.end(), ' ', kFixedSpace);
  return hanging("  --" + option.name() + " " + option.placeholder, option.help + " " + values);
}

}  // namespace

std::string help_text(const std::vector<std::string>& verb_lines) {
  std::string text = "lockstep " + version() + "\n" + std::string(kExamples);
  for (const std::string& line : verb_lines) {
    const std::size_t gap = std::min(line.find("  "), line.size());
    const std::size_t summary = std::min(line.find_first_not_of(' ', gap), line.size());
    text += hanging("  " + line.substr(0, gap), line.substr(summary));
  }
  text += "\nGeneral:\n";
  text += hanging("  --config FILE", "read a config file; may be given again, later files win");
  text += hanging("  --checkpoint PATH", "checkpoint to score (evaluate)");
  text += hanging("  --print-config", "show every value and where it comes from, then leave");
  text += hanging("  -h, --help", "show this text");
  text += hanging("  --version", "show version and build");
  text += kFiles;
  std::string section;
  for (const Option& option : option_table()) {
    if (option.hidden) {
      continue;
    }
    if (option.section != section) {
      section = option.section;
      text += "\n[" + section + "]\n";
    }
    text += option_help(option);
  }
  return text.append(kExitCodes);
}

std::string print_config_text(const CommandLine& command_line) {
  std::string text;
  std::string section;
  for (const Option& option : option_table()) {
    const auto found = command_line.origin.find(option.name());
    const std::string origin = found == command_line.origin.end() ? "default" : found->second;
    if (option.hidden && origin == "default") {
      continue;
    }
    if (option.section != section) {
      section = option.section;
      text += (text.empty() ? "[" : "\n[") + section + "]\n";
    }
    std::string line = option.key + " = " + file_value_text(command_line.config, option);
    line.resize(std::max<std::size_t>(line.size() + 2, kHelpColumn), ' ');
    text += line + "# " + origin + "\n";
  }
  return text;
}

}  // namespace lockstep
