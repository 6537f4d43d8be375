#pragma once

#include <map>
#include <string>
#include <vector>

namespace lockstep::tools {

/// The command line of a tool: a table of options that makes the help and the parser. Names are
/// never guessed from their beginning; an unknown one is an error with the nearest name.
class CommandLine {
 public:
  /// `about` is the text above the options; `places` names the positional arguments, all needed.
  /// "IN..." takes one or more, as many as the others leave, and is called "IN" below.
  CommandLine(std::string tool, std::string about, std::vector<std::string> places);

  /// An option with a value, which the help calls `value`: "N", or "FILE" or "SET" for paths. No
  /// default: "".
  void add(const std::string& name, const std::string& value, const std::string& help,
           const std::string& fallback = {});
  /// An option whose value is one of `words`; the first one is the default.
  void add_choice(const std::string& name, const std::vector<std::string>& words,
                  const std::string& help);
  /// An option with a value that may be given several times.
  void add_list(const std::string& name, const std::string& value, const std::string& help);
  void add_flag(const std::string& name, const std::string& help);

  /// Throws UsageError. With --help or --version prints what that asks for and returns false: there
  /// is nothing to do.
  [[nodiscard]] bool parse(int argc, const char* const* argv);

  /// Value of an option or a place, or its default.
  [[nodiscard]] const std::string& text(const std::string& name) const;
  /// All values of a place or a list of options, in the order given.
  [[nodiscard]] const std::vector<std::string>& texts(const std::string& name) const;
  /// Whether the command line gave it.
  [[nodiscard]] bool given(const std::string& name) const;

 private:
  struct Option {
    std::string name;
    std::string value;
    std::string help;
    std::string fallback;
    std::vector<std::string> words;
    enum class Kind { kFlag, kValue, kList } kind = Kind::kValue;
  };
  struct Place {
    std::string name;
    bool several = false;
  };
  [[nodiscard]] std::string usage() const;
  void print_help() const;
  void accept(const std::string& name, const std::string& value);
  void assign_places(const std::vector<std::string>& values);

  std::string tool_;
  std::string about_;
  std::vector<Place> places_;
  std::vector<Option> options_;
  std::map<std::string, std::vector<std::string>> values_;
};

}  // namespace lockstep::tools
