#include "lockstep/base/cli.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <string>
#include <vector>

#include "config_file.hpp"
#include "effects.hpp"
#include "lockstep/base/check.hpp"
#include "option_table.hpp"

namespace lockstep {
namespace {

namespace po = boost::program_options;

bool is_help(const std::string& arg) { return arg == "--help" || arg == "-h"; }

std::string joined(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) {
    list += (list.empty() ? "" : ", ") + word;
  }
  return list;
}

/// Names of the options that belong to single verbs, each once.
std::vector<std::string> verb_option_names(const Program& program) {
  std::vector<std::string> names;
  for (const Verb& verb : program.verbs) {
    for (const VerbOption& option : verb.options) {
      if (std::count(names.begin(), names.end(), option.name) == 0) {
        names.push_back(option.name);
      }
    }
  }
  return names;
}

bool has_option(const Verb& verb, const std::string& name) {
  return std::any_of(verb.options.begin(), verb.options.end(),
                     [&](const VerbOption& option) { return option.name == name; });
}

bool may_repeat(const Verb& verb, const std::string& name) {
  return std::any_of(verb.options.begin(), verb.options.end(), [&](const VerbOption& option) {
    return option.name == name && option.repeats;
  });
}

/// The Boost description of all options, made from the one table and the verbs.
po::options_description description(const Program& program) {
  po::options_description all;
  all.add_options()("config", po::value<std::string>())("help,h", "")("version", "")(
      "print-config", "")("list-options", "");
  for (const std::string& name : verb_option_names(program)) {
    all.add_options()(name.c_str(), po::value<std::string>());
  }
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

std::string option_suggestion(const std::string& name, const Program& program) {
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos) {
    if (const std::string known = name_elsewhere(name); !known.empty()) {
      return "did you mean --" + known + "?";
    }
    std::vector<std::string> general = verb_option_names(program);
    general.insert(general.end(), {"config", "help", "version", "print-config"});
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

[[noreturn]] void refuse_unknown(const po::option& option, const Program& program) {
  const std::string token = option.original_tokens.empty() ? "" : option.original_tokens.front();
  const std::string shown = token.substr(0, token.find('='));
  const std::size_t start = std::min(shown.find_first_not_of('-'), shown.size());
  throw UsageError("unknown option " + shown, "no option has this name",
                   option_suggestion(shown.substr(start), program));
}

[[noreturn]] void refuse_missing_value(const std::string& name) {
  throw UsageError("--" + name + " has no value", "a value must follow",
                   "write --" + name + " VALUE, or --" + name + "= for an empty one");
}

std::vector<po::option> parsed_options(const std::vector<std::string>& args,
                                       const Program& program) {
  const po::options_description known = description(program);
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

const Verb& known_verb(const std::vector<std::string>& args, const Program& program) {
  std::vector<std::string> verbs;
  for (const Verb& verb : program.verbs) {
    verbs.push_back(verb.name);
  }
  if (args.empty() || args.front().starts_with("-")) {
    throw UsageError("no verb is given", "the first argument says what to do: " + joined(verbs),
                     verbs.empty() ? "see --help" : "write lockstep " + verbs.front() + " ...");
  }
  const Verb* verb = program.find_verb(args.front());
  if (verb == nullptr) {
    const std::string near = nearest_name(args.front(), verbs);
    throw UsageError("unknown verb '" + args.front() + "'", "known: " + joined(verbs),
                     near.empty() ? "see --help" : "did you mean " + near + "?");
  }
  return *verb;
}

/// Refuses an option that the command line gives to a verb that does nothing with it.
void require_use(const Option& option, const Verb& verb, const Program& program) {
  if (verb.may_set(option.role)) {
    return;
  }
  const std::string why = verb.gets_from_checkpoint(option.role)
                              ? "the checkpoint says what it is"
                              : "it belongs to " + joined(program.verbs_that_take(option.role));
  throw UsageError("--" + option.name() + " has no effect on " + verb.name, why, "leave it out");
}

[[noreturn]] void refuse_option_of_others(const std::string& name, const Verb& verb,
                                          const Program& program) {
  std::vector<std::string> others;
  for (const Verb& other : program.verbs) {
    if (has_option(other, name)) {
      others.push_back(other.name);
    }
  }
  throw UsageError("--" + name + " does not belong to " + verb.name,
                   "it belongs to " + joined(others), "leave it out");
}

void take_verb_option(const std::string& name, const std::string& value, const Verb& verb,
                      CommandLine& result) {
  const auto option = std::find_if(verb.options.begin(), verb.options.end(),
                                   [&](const VerbOption& o) { return o.name == name; });
  if (names_path(option->placeholder)) {
    require_no_tilde(value, "--" + name);
  }
  std::vector<std::string>& values = result.verb_options[name];
  if (!values.empty() && !may_repeat(verb, name)) {
    throw UsageError("--" + name + " is given twice",
                     "'" + values.front() + "' and '" + value + "'", "leave one of them out");
  }
  values.push_back(value);
}

/// Takes one option of the command line into `result`, or into `assignments` when it is a key.
void take_option(const po::option& option, const Verb& verb, const Program& program,
                 CommandLine& result, std::vector<Assignment>& assignments) {
  if (option.string_key.empty() && !verb.positional.empty()) {
    take_verb_option(verb.positional, option.value.front(), verb, result);
    return;
  }
  if (option.string_key.empty()) {
    throw UsageError("unexpected argument '" + option.value.front() + "'",
                     "after the verb come options alone", "write --section.key VALUE");
  }
  if (option.unregistered) {
    refuse_unknown(option, program);
  }
  const std::string& name = option.string_key;
  // A value in an argument of its own that looks like an option is a forgotten value.
  if (option.original_tokens.size() > 1 && option.value.front().starts_with("--")) {
    refuse_missing_value(name);
  }
  if (name == "config") {
    require_no_tilde(option.value.front(), "--config");
    result.config_files.push_back(option.value.front());
  } else if (name == "print-config") {
    result.print_config = true;
  } else if (const Option* key = find_option(name)) {
    require_use(*key, verb, program);
    assignments.push_back({key, option.value.front(), false, kCommandLineOrigin});
  } else if (has_option(verb, name)) {
    take_verb_option(name, option.value.front(), verb, result);
  } else {
    refuse_option_of_others(name, verb, program);
  }
}

/// What the files say, without the keys that the verb takes from a checkpoint; these are checked
/// like all others.
std::vector<Assignment> file_layers(const std::vector<std::string>& files, const Verb& verb,
                                    const Program& program) {
  std::vector<Assignment> assignments;
  for (const std::string& file : files) {
    const std::vector<Assignment> more = read_config_file(file);
    assignments.insert(assignments.end(), more.begin(), more.end());
  }
  if (!verb.inherits.empty()) {
    RunConfig scratch;
    std::map<std::string, std::string> ignored;
    apply_assignments(assignments, program.choices, scratch, ignored);
  }
  std::erase_if(assignments, [&](const Assignment& assignment) {
    return verb.gets_from_checkpoint(assignment.option->role);
  });
  return assignments;
}

std::vector<Assignment> checkpoint_layer(const std::string& text, const std::string& name,
                                         const Verb& verb) {
  std::vector<Assignment> assignments = read_config_text(text, name);
  std::erase_if(assignments, [&](const Assignment& assignment) {
    return !verb.gets_from_checkpoint(assignment.option->role);
  });
  for (Assignment& assignment : assignments) {
    assignment.of_checkpoint = true;
  }
  return assignments;
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& args, const Program& program,
                               const std::string& checkpoint_config,
                               const std::string& checkpoint_name) {
  CommandLine result;
  result.help = std::any_of(args.begin(), args.end(), is_help);
  result.version = std::count(args.begin(), args.end(), "--version") > 0;
  result.list_options = std::count(args.begin(), args.end(), "--list-options") > 0;
  if (result.help || result.version || result.list_options) {
    result.verb = !args.empty() && program.find_verb(args.front()) != nullptr ? args.front() : "";
    return result;
  }
  const Verb& verb = known_verb(args, program);
  result.verb = verb.name;

  std::vector<Assignment> on_command_line;
  for (const po::option& option : parsed_options({args.begin() + 1, args.end()}, program)) {
    take_option(option, verb, program, result, on_command_line);
  }
  std::vector<Assignment> assignments = file_layers(result.config_files, verb, program);
  for (const auto& layer :
       {checkpoint_layer(checkpoint_config, checkpoint_name, verb), on_command_line}) {
    assignments.insert(assignments.end(), layer.begin(), layer.end());
  }
  std::map<std::string, std::string> origin;
  apply_assignments(assignments, program.choices, result.config, origin);
  for (const Option& option : option_table()) {
    if (verb.may_set(option.role) || verb.gets_from_checkpoint(option.role)) {
      const auto given = origin.find(option.name());
      result.origin[option.name()] = given == origin.end() ? kDefaultOrigin : given->second;
    } else {
      reset_option(result.config, option);
    }
  }
  drop_ineffective(program, assignments, result);
  return result;
}

std::vector<std::string> CommandLine::verb_values(const std::string& name) const {
  const auto found = verb_options.find(name);
  return found == verb_options.end() ? std::vector<std::string>() : found->second;
}

std::string CommandLine::verb_value(const std::string& name) const {
  const auto found = verb_options.find(name);
  return found == verb_options.end() ? std::string() : found->second.front();
}

std::vector<std::string> option_keys() {
  std::vector<std::string> keys;
  for (const Option& option : option_table()) {
    keys.push_back(option.name());
  }
  return keys;
}

}  // namespace lockstep
