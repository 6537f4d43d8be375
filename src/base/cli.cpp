#include "lockstep/base/cli.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <string>
#include <vector>

#include "config_file.hpp"
#include "lockstep/base/check.hpp"
#include "option_table.hpp"

namespace lockstep {
namespace {

namespace po = boost::program_options;

bool is_help(const std::string& arg) { return arg == "--help" || arg == "-h"; }

/// The Boost description of all options, made from the one table.
po::options_description description() {
  po::options_description all;
  all.add_options()("config", po::value<std::string>())("checkpoint", po::value<std::string>())(
      "help,h", "")("version", "")("print-config", "")("list-options", "");
  for (const Option& option : option_table()) {
    all.add_options()(option.name().c_str(), po::value<std::string>(), option.help.c_str());
  }
  return all;
}

/// `--key=` gives the empty text, which Boost itself refuses.
std::vector<po::option> parse_empty_value(std::vector<std::string>& args) {
  const std::string& token = args.front();
  if (!token.starts_with("--") || token.size() < 4 || token.find('=') != token.size() - 1) {
    return {};
  }
  po::option option(token.substr(2, token.size() - 3), {std::string()});
  option.original_tokens = {token};
  args.erase(args.begin());
  return {option};
}

std::string option_suggestion(const std::string& name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos) {
    const std::vector<std::string> general{"config", "checkpoint", "help", "version",
                                           "print-config"};
    const std::string near = nearest_name(name, general);
    if (!near.empty()) {
      return "did you mean --" + near + "?";
    }
    const std::string suggestion = key_suggestion("", name);
    const std::string opening = "did you mean ";
    return suggestion.starts_with(opening) ? opening + "--" + suggestion.substr(opening.size())
                                           : suggestion;
  }
  return key_suggestion(name.substr(0, dot), name.substr(dot + 1));
}

[[noreturn]] void refuse_unknown(const po::option& option) {
  const std::string token = option.original_tokens.empty() ? "" : option.original_tokens.front();
  const std::string shown = token.substr(0, token.find('='));
  const std::size_t start = std::min(shown.find_first_not_of('-'), shown.size());
  throw UsageError("unknown option " + shown, "no option has this name",
                   option_suggestion(shown.substr(start)));
}

[[noreturn]] void refuse_missing_value(const std::string& name) {
  throw UsageError("--" + name + " has no value", "a value must follow",
                   "write --" + name + " VALUE, or --" + name + "= for an empty one");
}

std::vector<po::option> parsed_options(const std::vector<std::string>& args) {
  const po::options_description known = description();
  namespace style = po::command_line_style;
  try {
    return po::command_line_parser(args)
        .options(known)
        .style(style::unix_style & ~style::allow_guessing & ~style::allow_sticky)
        .extra_style_parser(parse_empty_value)
        .allow_unregistered()
        .run()
        .options;
  } catch (const po::invalid_command_line_syntax& error) {
    std::string name = error.get_option_name();
    name.erase(0, std::min(name.find_first_not_of('-'), name.size()));
    if (error.kind() == po::invalid_syntax::missing_parameter) {
      refuse_missing_value(name);
    }
    throw UsageError("cannot read --" + name, "it takes no value", "leave out the value");
  } catch (const po::error& error) {
    throw UsageError("cannot read the command line", error.what(), "see --help");
  }
}

std::string known_verb(const std::vector<std::string>& args,
                       const std::vector<std::string>& verbs) {
  std::string list;
  for (const std::string& verb : verbs) {
    list += (list.empty() ? "" : ", ") + verb;
  }
  if (args.empty() || args.front().starts_with("-")) {
    throw UsageError("no verb is given", "the first argument says what to do: " + list,
                     verbs.empty() ? "see --help" : "write lockstep " + verbs.front() + " ...");
  }
  if (std::count(verbs.begin(), verbs.end(), args.front()) == 0) {
    const std::string near = nearest_name(args.front(), verbs);
    throw UsageError("unknown verb '" + args.front() + "'", "known: " + list,
                     near.empty() ? "see --help" : "did you mean " + near + "?");
  }
  return args.front();
}

/// Takes one option of the command line into `result`, or into `assignments` when it is a key.
void take_option(const po::option& option, CommandLine& result,
                 std::vector<Assignment>& assignments) {
  if (option.string_key.empty()) {
    throw UsageError("unexpected argument '" + option.value.front() + "'",
                     "after the verb come options alone", "write --section.key VALUE");
  }
  if (option.unregistered) {
    refuse_unknown(option);
  }
  const std::string& name = option.string_key;
  // A value in an argument of its own that looks like an option is a forgotten value.
  if (option.original_tokens.size() > 1 && option.value.front().starts_with("--")) {
    refuse_missing_value(name);
  }
  if (name == "config") {
    result.config_files.push_back(option.value.front());
  } else if (name == "checkpoint") {
    if (result.verb != "evaluate") {
      throw UsageError("--checkpoint does not belong to " + result.verb,
                       "it names the model that evaluate scores",
                       "use lockstep evaluate, or leave it out");
    }
    result.checkpoint = option.value.front();
  } else if (name == "print-config") {
    result.print_config = true;
  } else {
    assignments.push_back({find_option(name), option.value.front(), false, kCommandLineOrigin});
  }
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& args,
                               const std::vector<std::string>& verbs, const std::string& base_text,
                               const std::string& base_name) {
  CommandLine result;
  for (const Option& option : option_table()) {
    result.origin[option.name()] = "default";
  }
  result.help = std::any_of(args.begin(), args.end(), is_help);
  result.version = std::count(args.begin(), args.end(), "--version") > 0;
  result.list_options = std::count(args.begin(), args.end(), "--list-options") > 0;
  if (result.help || result.version || result.list_options) {
    return result;
  }
  result.verb = known_verb(args, verbs);

  std::vector<Assignment> on_command_line;
  for (const po::option& option : parsed_options({args.begin() + 1, args.end()})) {
    take_option(option, result, on_command_line);
  }
  std::vector<Assignment> assignments;
  if (!base_text.empty()) {
    assignments = read_config_text(base_text, base_name);
  }
  for (const std::string& file : result.config_files) {
    const std::vector<Assignment> more = read_config_file(file);
    assignments.insert(assignments.end(), more.begin(), more.end());
  }
  assignments.insert(assignments.end(), on_command_line.begin(), on_command_line.end());
  apply_assignments(assignments, result.config, result.origin);
  return result;
}

std::vector<std::string> option_keys() {
  std::vector<std::string> keys;
  for (const Option& option : option_table()) {
    keys.push_back(option.name());
  }
  return keys;
}

}  // namespace lockstep
