#include <algorithm>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config_file.hpp"
#include "lockstep/base/build_info.hpp"
#include "lockstep/base/cli.hpp"
#include "option_table.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kWidth = 98;
constexpr std::size_t kHelpColumn = 36;

constexpr std::string_view kUsage =
    R"(Train image classifiers on one machine or a cluster, one process (rank) per GPU or CPU share.

Usage: lockstep VERB [--config FILE]... [--section.key VALUE]...

)";
constexpr std::string_view kDefaultValue = "Brackets show the default and what is allowed.\n";
constexpr std::string_view kCheckpointValue =
    "Brackets show the default and what is allowed; \"the checkpoint's\" stands for its value.\n";

constexpr std::string_view kFiles = R"(
A config file holds "[section]" and "key = value" lines; "include = FILE" at its top reads another
first. The last value given wins: files in their order, then the command line. "${section.key}"
stands for another value. Relative paths count from the working directory, those of include from
the including file.
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

using Choices = std::vector<Choice>;

std::string allowed_text(const Option& option, const Choices& choices) {
  std::string text;
  for (const std::string& word : option.chosen ? choice_names(choices) : option.words) {
    text += (text.empty() ? "" : "|") + word;
  }
  if (std::holds_alternative<Binding<bool>>(option.value)) {
    return "true|false";
  }
  return text.empty() ? option.range.text() : text;
}

/// `inherited`: a checkpoint gives the value where nothing else does.
std::string option_help(const Option& option, const Choices& choices, bool inherited) {
  const std::string value =
      inherited ? std::string("the checkpoint's") : option_text(RunConfig{}, option);
  const std::string allowed = allowed_text(option, choices);
  std::string values = "[" + (value.empty() ? std::string("empty") : value) +
                       (allowed.empty() ? "" : "; " + allowed) + "]";
  std::replace(values.begin(), values.end(), ' ', kFixedSpace);
  if (values.size() > kWidth - kHelpColumn) {
    // More words than a line holds: it may end behind each of them.
    const std::string bar{kFixedSpace, '|', ' '};
    for (std::size_t at = values.find('|'); at != std::string::npos;
         at = values.find('|', at + bar.size())) {
      values.replace(at, 1, bar);
    }
  }
  std::string text =
      hanging("  --" + option.name() + " " + option.placeholder, option.help + " " + values);
  for (const Choice& choice : choices) {
    if (!choice.summary.empty()) {
      text += hanging("      " + choice.name, choice.summary);
    }
  }
  return text;
}

std::string general_help() {
  return "\nGeneral:\n" +
         hanging("  --config FILE", "read a config file; may be given again, later files win") +
         hanging("  --print-config", "show every value and where it comes from, then leave") +
         hanging("  -h, --help", "show this text") +
         hanging("  --version", "show version and build");
}

std::string verbs_help(const Program& program) {
  std::string text(kUsage);
  for (const Verb& verb : program.verbs) {
    text += verb.example;
  }
  text += "\nVerbs (lockstep VERB --help shows what one of them takes):\n";
  for (const Verb& verb : program.verbs) {
    text += hanging("  " + verb.name, verb.summary);
  }
  text += general_help();
  for (const Verb& verb : program.verbs) {
    for (const VerbOption& option : verb.options) {
      text += hanging("  --" + option.name + " " + option.placeholder,
                      option.help + " (" + verb.name + ")");
    }
  }
  return text;
}

std::string verb_help(const Verb& verb) {
  std::string text = "lockstep " + verb.name + ": " + verb.summary + "\n\n" + verb.example;
  if (!verb.options.empty()) {
    text += "\nOptions of " + verb.name + ":\n";
  }
  for (const VerbOption& option : verb.options) {
    text += hanging("  --" + option.name + " " + option.placeholder, option.help);
  }
  return text + general_help();
}

}  // namespace

std::string help_text(const Program& program, const std::string& verb) {
  const Verb* only = program.find_verb(verb);
  const bool inherits = only != nullptr && !only->inherits.empty();
  std::string text = "lockstep " + version() + "\n";
  text += only == nullptr ? verbs_help(program) : verb_help(*only);
  text.append(kFiles).append(inherits ? kCheckpointValue : kDefaultValue);
  std::string section;
  for (const Option& option : option_table()) {
    if (option.hidden || (only != nullptr && !only->may_set(option.role))) {
      continue;
    }
    if (option.section != section) {
      section = option.section;
      text += "\n[" + section + "]\n";
    }
    const auto choices = program.choices.find(option.name());
    text += option_help(option, choices == program.choices.end() ? Choices{} : choices->second,
                        only != nullptr && only->gets_from_checkpoint(option.role));
  }
  return text.append(kExitCodes);
}

std::string print_config_text(const CommandLine& command_line) {
  std::string text;
  std::string section;
  for (const Option& option : option_table()) {
    const auto origin = command_line.origin.find(option.name());
    if (origin == command_line.origin.end() ||
        (option.hidden && origin->second == kDefaultOrigin)) {
      continue;
    }
    if (option.section != section) {
      section = option.section;
      text += (text.empty() ? "[" : "\n[") + section + "]\n";
    }
    std::string line = option.key + " = " + file_value_text(command_line.config, option);
    line.resize(std::max<std::size_t>(line.size() + 2, kHelpColumn), ' ');
    text += line + "# " + origin->second + "\n";
  }
  return text;
}

}  // namespace lockstep
