#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lockstep/base/config.hpp"
#include "lockstep/base/program.hpp"

namespace lockstep {

/// Access to one field of a RunConfig.
template <typename T>
struct Binding {
  std::function<const T&(const RunConfig&)> get;
  std::function<T&(RunConfig&)> ref;
};

using AnyBinding = std::variant<Binding<std::string>, Binding<std::int64_t>, Binding<std::uint64_t>,
                                Binding<double>, Binding<bool>, Binding<std::vector<double>>>;

/// The largest value of a count that names no other bound.
inline constexpr double kMaxCount = 2147483647;

/// Allowed numbers: from low to high, an open end excluded.
struct NumberRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;
  bool high_open = false;
  [[nodiscard]] bool contains(double value) const noexcept;
  /// "at least 1", "above 0", "0 to below 1"; empty when nothing is excluded.
  [[nodiscard]] std::string text() const;
};

/// What it means that the value is another than that of the checkpoint a run goes on from.
enum class ResumeRule {
  kFree,           ///< nothing that the run learns
  kWarn,           ///< the run goes on, as another than it was
  kBetweenEpochs,  ///< as kWarn; inside an epoch samples would be left out or come twice: refused
  kRefuse,         ///< what was saved does not fit any more
};

/// One key of the configuration: everything that help, command line and files know about it.
struct Option {
  std::string section;
  std::string key;
  std::string help;  ///< meaning and unit
  AnyBinding value;
  NumberRange range;
  std::vector<std::string> words;  ///< allowed words of a text; empty: any text
  bool chosen = false;             ///< the allowed words are the Program's choices
  std::string placeholder;         ///< of the value in the help: N, X, PATH, ...
  OptionRole role = OptionRole::kTraining;
  ResumeRule on_resume = ResumeRule::kWarn;
  bool hidden = false;

  [[nodiscard]] std::string name() const { return section + "." + key; }
};

/// All options, grouped by section, in the order of the help.
[[nodiscard]] const std::vector<Option>& option_table();

/// The option "section.key", or null.
[[nodiscard]] const Option* find_option(std::string_view name);

/// The sections in the order of the table.
[[nodiscard]] std::vector<std::string> option_sections();

/// For an unknown key: "did you mean train.batch_size?", or where all keys are listed. `section`
/// may be empty. A key that exists in another section comes before a similar spelling.
[[nodiscard]] std::string key_suggestion(const std::string& section, const std::string& key);

/// The option that other programs call `name` ("learning_rate": "optim.lr"), or "".
[[nodiscard]] std::string name_elsewhere(std::string name);

/// Reads `text` into the option's field. Throws UsageError; `what` names the key and where the text
/// stands ("base.cfg:3: optim.lr").
void set_option(RunConfig& config, const Option& option, const std::string& text,
                const std::string& what);

/// Whether a value of that placeholder is a path: PATH, WORD|PATH, FILE, DIR.
[[nodiscard]] bool names_path(const std::string& placeholder);

/// Throws UsageError unless `text` is one of the words; `what` as in set_option.
void check_word(const std::vector<std::string>& words, const std::string& text,
                const std::string& what);

/// Gives the option its default again.
void reset_option(RunConfig& config, const Option& option);

/// The option's value as plain text, which set_option reads back to the same value.
[[nodiscard]] std::string option_text(const RunConfig& config, const Option& option);

/// option_text as it stands in a file: quoted where a file would read it differently.
[[nodiscard]] std::string file_value_text(const RunConfig& config, const Option& option);

}  // namespace lockstep
