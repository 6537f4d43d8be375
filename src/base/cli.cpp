#include "lockstep/base/cli.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <set>

#include "config_file.hpp"
#include "lockstep/base/check.hpp"
#include "option_table.hpp"

namespace lockstep {
namespace {

namespace po = boost::program_options;

/// A value as text, before it is read into the config.
struct RawValue {
  std::string text;
  std::string origin;
  bool literal = false;
};
using RawValues = std::map<std::string, RawValue>;

po::options_description describe_options() {
  po::options_description all;
  auto add = all.add_options();
  add("help", "");
  add("version", "");
  add("print-config", "");
  add("list-options", "");
  add("config", po::value<std::string>(), "");
  add("checkpoint", po::value<std::string>(), "");
  for (const Option& option : option_table()) {
    add(option.name().c_str(), po::value<std::string>(), "");
  }
  return all;
}

std::string suggestion_for(std::string name) {
  name.erase(0, name.find_first_not_of('-'));
  const std::size_t dot = name.find('.');
  if (dot != std::string::npos) {
    return key_suggestion(name.substr(0, dot), name.substr(dot + 1));
  }
  const std::vector<std::string> words{"help", "version", "print-config", "checkpoint", "config"};
  const std::string nearest = nearest_name(name, words);
  return nearest.empty() ? key_suggestion("", name) : "did you mean --" + nearest + "?";
}

po::parsed_options parse_options(const std::vector<std::string>& args) {
  static const po::options_description description = describe_options();
  namespace style = po::command_line_style;
  try {
    // No short options, so that a negative number is a value; no guessing at unfinished names.
    po::command_line_parser parser(args);
    parser.options(description)
        .style(style::allow_long | style::long_allow_adjacent | style::long_allow_next);
    return parser.run();
  } catch (const po::unknown_option& error) {
    throw UsageError("unknown option " + error.get_option_name(), "there is no such option",
                     suggestion_for(error.get_option_name()));
  } catch (const po::error& error) {
    throw UsageError("the command line cannot be read", error.what(),
                     "write --section.key VALUE; see --help");
  }
}

std::string take_verb(std::vector<std::string>& args, const std::vector<std::string>& verbs) {
  if (args.empty() || args.front().starts_with("-")) {
    return {};
  }
  const std::string verb = args.front();
  args.erase(args.begin());
  if (std::find(verbs.begin(), verbs.end(), verb) == verbs.end()) {
    const std::string nearest = nearest_name(verb, verbs);
    throw UsageError("unknown verb '" + verb + "'", "the first word says what to do",
                     nearest.empty() ? "see lockstep --help" : "did you mean " + nearest + "?");
  }
  return verb;
}

void overlay(RawValues& values, const std::vector<FileValue>& layer) {
  for (const FileValue& value : layer) {
    values[value.name] = {value.value, value.origin, value.literal};
  }
}

/// Replaces ${section.key} by that option's own value.
class Resolver {
 public:
  explicit Resolver(const RawValues& values) : values_(values) {}

  std::string resolve(const std::string& name) {
    const auto found = values_.find(name);
    if (found == values_.end()) {
      return option_text(RunConfig{}, *find_option(name));
    }
    const RawValue& raw = found->second;
    if (raw.literal || raw.text.find("${") == std::string::npos) {
      return raw.text;
    }
    if (!active_.insert(name).second) {
      throw UsageError(raw.origin + ": " + name + " refers to itself",
                       "the values named with ${...} run in a circle", "write one of them out");
    }
    std::string text = expand(raw, name);
    active_.erase(name);
    return text;
  }

 private:
  std::string expand(const RawValue& raw, const std::string& name) {
    std::string text;
    std::size_t from = 0;
    for (std::size_t open = 0; (open = raw.text.find("${", from)) != std::string::npos;) {
      const std::size_t close = raw.text.find('}', open);
      const std::string other = raw.text.substr(
          open + 2, close == std::string::npos ? std::string::npos : close - open - 2);
      if (close == std::string::npos || find_option(other) == nullptr) {
        throw UsageError(raw.origin + ": " + name + " refers to '" + other + "'",
                         "there is no such option", suggestion_for(other));
      }
      text += raw.text.substr(from, open - from) + resolve(other);
      from = close + 1;
    }
    return text + raw.text.substr(from);
  }

  const RawValues& values_;
  std::set<std::string> active_;
};

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& args,
                               const std::vector<std::string>& verbs, const std::string& base_text,
                               const std::string& base_name) {
  std::vector<std::string> rest = args;
  std::replace(rest.begin(), rest.end(), std::string("-h"), std::string("--help"));
  CommandLine result;
  result.verb = take_verb(rest, verbs);
  RawValues from_command_line;
  for (const auto& option : parse_options(rest).options) {
    const std::string value = option.value.empty() ? std::string() : option.value.front();
    if (option.position_key != -1) {
      throw UsageError("unexpected word '" + value + "'", "every value belongs to an option",
                       "write --section.key VALUE; see --help");
    }
    if (option.string_key == "help") {
      result.help = true;
    } else if (option.string_key == "version") {
      result.version = true;
    } else if (option.string_key == "print-config") {
      result.print_config = true;
    } else if (option.string_key == "list-options") {
      result.list_options = true;
    } else if (option.string_key == "config") {
      result.config_files.push_back(value);
    } else if (option.string_key == "checkpoint") {
      result.checkpoint = value;
    } else {
      from_command_line[option.string_key] = {value, "command line", false};
    }
  }
  if (result.help || result.version || result.list_options) {
    return result;
  }
  if (result.verb.empty()) {
    throw UsageError("nothing to do", "the first word of the command line is no verb",
                     "write lockstep train ...; see lockstep --help");
  }
  if (!result.checkpoint.empty() && result.verb == "train") {
    throw UsageError("--checkpoint does not go with train", "training starts from new weights",
                     "use it with evaluate");
  }

  RawValues values;
  if (!base_text.empty()) {
    overlay(values, read_config_text(base_text, base_name));
  }
  for (const std::string& file : result.config_files) {
    overlay(values, read_config_file(file));
  }
  for (const auto& [name, value] : from_command_line) {
    values[name] = value;
  }
  Resolver resolver(values);
  for (const Option& option : option_table()) {
    const auto found = values.find(option.name());
    result.origin[option.name()] = found == values.end() ? "default" : found->second.origin;
    if (found != values.end()) {
      set_option(result.config, option, resolver.resolve(option.name()),
                 found->second.origin + ": " + option.name());
    }
  }
  return result;
}

std::string print_config_text(const CommandLine& command_line) {
  std::string text;
  std::string section;
  for (const Option& option : option_table()) {
    if (option.section != section) {
      section = option.section;
      text += (text.empty() ? "[" : "\n[") + section + "]\n";
    }
    const auto origin = command_line.origin.find(option.name());
    std::string line = option.key + " = " + file_value_text(command_line.config, option);
    constexpr std::size_t kColumn = 40;
    line.resize(std::max(line.size(), kColumn), ' ');
    text += line + "  # " +
            (origin == command_line.origin.end() ? std::string("default") : origin->second) + "\n";
  }
  return text;
}

std::vector<std::string> option_keys() {
  std::vector<std::string> keys;
  for (const Option& option : option_table()) {
    keys.push_back(option.name());
  }
  return keys;
}

}  // namespace lockstep
