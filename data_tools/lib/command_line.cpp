#include "lib/command_line.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <iostream>
#include <sstream>

#include "lockstep/base/build_info.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/cli.hpp"

namespace lockstep::tools {
namespace {

namespace po = boost::program_options;

std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

/// A space at which no line may end.
constexpr char kFixedSpace = '\x1F';

/// `text` behind `head`, in lines of at most kWidth that begin at kColumn.
std::string hanging(const std::string& head, const std::string& text) {
  constexpr std::size_t kColumn = 32;
  constexpr std::size_t kWidth = 100;
  std::string result = head;
  std::size_t used = head.size();
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::replace(word.begin(), word.end(), kFixedSpace, ' ');
    if (used + 1 + word.size() > kWidth) {
      result += '\n';
      used = 0;
    }
    const std::size_t gap = used < kColumn ? std::max<std::size_t>(kColumn - used, 1) : 1;
    result.append(gap, ' ').append(word);
    used += gap + word.size();
  }
  return result + '\n';
}

}  // namespace

CommandLine::CommandLine(std::string tool, std::string about, std::vector<std::string> places)
    : tool_(std::move(tool)), about_(std::move(about)) {
  for (std::string& place : places) {
    const bool several = place.ends_with("...");
    places_.push_back({several ? place.substr(0, place.size() - 3) : std::move(place), several});
  }
  add_flag("help", "show this text");
  add_flag("version", "show the version");
}

void CommandLine::add(const std::string& name, const std::string& value, const std::string& help,
                      const std::string& fallback) {
  options_.push_back({name, value, help, fallback, {}, Option::Kind::kValue});
}

void CommandLine::add_choice(const std::string& name, const std::vector<std::string>& words,
                             const std::string& help) {
  options_.push_back({name, joined(words, "|"), help, words.front(), words, Option::Kind::kValue});
}

void CommandLine::add_list(const std::string& name, const std::string& value,
                           const std::string& help) {
  options_.push_back({name, value, help, {}, {}, Option::Kind::kList});
}

void CommandLine::add_flag(const std::string& name, const std::string& help) {
  options_.push_back({name, {}, help, {}, {}, Option::Kind::kFlag});
}

bool CommandLine::parse(int argc, const char* const* argv) {
  po::options_description table;
  for (const Option& option : options_) {
    if (option.kind == Option::Kind::kFlag) {
      table.add_options()(option.name.c_str(), "");
    } else {
      table.add_options()(option.name.c_str(), po::value<std::string>(), "");
    }
  }
  po::options_description all;
  all.add(table).add_options()("place", po::value<std::vector<std::string>>(), "");
  namespace style = po::command_line_style;
  std::vector<std::string> placed;
  try {
    const po::parsed_options parsed =
        po::command_line_parser(argc, argv)
            .options(all)
            .positional(po::positional_options_description().add("place", -1))
            .style(style::allow_long | style::long_allow_adjacent | style::long_allow_next |
                   style::allow_short | style::allow_dash_for_short | style::short_allow_next)
            .run();
    for (const po::option& option : parsed.options) {
      if (option.position_key < 0) {
        accept(option.string_key, option.value.empty() ? "" : option.value.front());
      } else {
        placed.push_back(option.value.front());
      }
    }
  } catch (const po::unknown_option& error) {
    std::vector<std::string> names;
    for (const Option& option : options_) names.push_back("--" + option.name);
    const std::string nearest = nearest_name(error.get_option_name(), names);
    throw UsageError(
        "there is no option '" + error.get_option_name() + "'", tool_ + " does not know it",
        nearest.empty() ? "see " + tool_ + " --help" : "did you mean " + nearest + "?");
  } catch (const po::error& error) {
    throw UsageError("the command line cannot be read", error.what(), "see " + tool_ + " --help");
  }
  if (given("help")) {
    print_help();
    return false;
  }
  if (given("version")) {
    std::cout << build_summary() << '\n';
    return false;
  }
  assign_places(placed);
  return true;
}

void CommandLine::assign_places(const std::vector<std::string>& values) {
  const std::size_t spare = values.size() - std::min(values.size(), places_.size());
  const bool room =
      std::any_of(places_.begin(), places_.end(), [](const Place& place) { return place.several; });
  if (spare > 0 && !room) {
    throw UsageError("'" + values[places_.size()] + "' is one argument too many",
                     tool_ + " takes " + usage(), "see " + tool_ + " --help");
  }
  auto next = values.begin();
  for (const Place& place : places_) {
    if (next == values.end()) {
      throw UsageError(place.name + " is not given", tool_ + " takes " + usage(),
                       "see " + tool_ + " --help");
    }
    const auto end = next + 1 + (place.several ? static_cast<std::ptrdiff_t>(spare) : 0);
    std::for_each(next, end, [&](const auto& path) { require_no_tilde(path, place.name); });
    values_[place.name].assign(next, end);
    next = end;
  }
}

void CommandLine::accept(const std::string& name, const std::string& value) {
  const auto option = std::find_if(options_.begin(), options_.end(),
                                   [&](const Option& o) { return o.name == name; });
  if (given(name) && option->kind != Option::Kind::kList) {
    throw UsageError("--" + name + " is given twice", "it has one value", "leave one of them out");
  }
  const auto& words = option->words;
  if (!words.empty() && std::find(words.begin(), words.end(), value) == words.end()) {
    const std::string nearest = nearest_name(value, words);
    throw UsageError("--" + name + " '" + value + "' is not a known word",
                     "allowed: " + joined(words, ", "),
                     nearest.empty() ? "choose one of them" : "did you mean " + nearest + "?");
  }
  if (option->value == "FILE" || option->value == "SET") require_no_tilde(value, "--" + name);
  values_[name].push_back(value);
}

const std::string& CommandLine::text(const std::string& name) const {
  if (const auto found = values_.find(name); found != values_.end()) return found->second.front();
  return std::find_if(options_.begin(), options_.end(),
                      [&](const Option& o) { return o.name == name; })
      ->fallback;
}

const std::vector<std::string>& CommandLine::texts(const std::string& name) const {
  static const std::vector<std::string> kNone;
  const auto found = values_.find(name);
  return found == values_.end() ? kNone : found->second;
}

bool CommandLine::given(const std::string& name) const { return values_.contains(name); }

std::string CommandLine::usage() const {
  std::string text;
  for (const Place& place : places_) {
    text += (text.empty() ? "" : " ") + place.name + (place.several ? "..." : "");
  }
  return text;
}

void CommandLine::print_help() const {
  std::cout << "Usage: " << tool_ << ' ' << usage() << " [options]\n\n"
            << about_ << "\n\nOptions:\n";
  for (const Option& option : options_) {
    std::string left = "  --" + option.name;
    if (!option.value.empty()) left += " " + option.value;
    std::string fallback = option.fallback.empty() ? "" : "(default " + option.fallback + ")";
    std::replace(fallback.begin(), fallback.end(), ' ', kFixedSpace);
    std::cout << hanging(left, option.help + " " + fallback);
  }
  std::cout << "\nExit codes: 0 done, 1 failed, 2 wrong use.\n";
}

}  // namespace lockstep::tools
