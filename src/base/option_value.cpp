#include <algorithm>
#include <type_traits>

#include "lockstep/base/check.hpp"
#include "lockstep/base/cli.hpp"
#include "lockstep/base/wording.hpp"
#include "option_table.hpp"
#include "parse_value.hpp"

namespace lockstep {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ", ") + (word.empty() ? std::string("(empty)") : word);
  }
  return text;
}

void check_range(const Option& option, double value, const std::string& text,
                 const std::string& what) {
  if (!option.range.contains(value)) {
    const bool above = value > option.range.high;
    throw UsageError(
        what + ": " + text + " is out of range",
        "allowed: " + (above && option.range.high == kMaxCount ? "at most " + number_text(kMaxCount)
                                                               : option.range.text()),
        "choose a value in that range; " + option.name() + " is: " + option.help);
  }
}

bool needs_quotes(const std::string& text) {
  if (text.empty()) {
    return false;
  }
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  if (is_space(text.front()) || is_space(text.back()) || text.front() == '"' ||
      text.find_first_of("\r\n") != std::string::npos || text.find("${") != std::string::npos) {
    return true;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((text[i] == '#' || text[i] == ';') && (i == 0 || is_space(text[i - 1]))) {
      return true;
    }
  }
  return false;
}

std::string quote(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    switch (c) {
      case '\n':
        result += "\\n";
        break;
      case '\r':
        result += "\\r";
        break;
      case '"':
      case '\\':
        result += '\\';
        [[fallthrough]];
      default:
        result += c;
    }
  }
  return result + '"';
}

}  // namespace

bool NumberRange::contains(double value) const noexcept {
  return (low_open ? value > low : value >= low) && (high_open ? value < high : value <= high);
}

std::string NumberRange::text() const {
  const bool from = low > -std::numeric_limits<double>::infinity();
  const bool to = high < kMaxCount;
  if (from && to) {
    return (low_open ? "above " : "") + number_text(low) + " to " + (high_open ? "below " : "") +
           number_text(high);
  }
  // The common limit of counts only matters to someone who has passed it; it stays out of the help.
  return from ? (low_open ? "above " : "at least ") + number_text(low) : std::string();
}

bool names_path(const std::string& placeholder) {
  return placeholder.ends_with("PATH") || placeholder == "FILE" || placeholder == "DIR";
}

void check_word(const std::vector<std::string>& words, const std::string& text,
                const std::string& what) {
  if (std::count(words.begin(), words.end(), text) > 0) {
    return;
  }
  const std::string nearest = nearest_name(text, words);
  throw UsageError(what + ": '" + text + "' is not a known word", "allowed: " + joined(words),
                   nearest.empty() ? "write one of them" : "did you mean " + nearest + "?");
}

void set_option(RunConfig& config, const Option& option, const std::string& text,
                const std::string& what) {
  std::visit(
      [&](const auto& binding) {
        auto& field = binding.ref(config);
        using T = std::remove_reference_t<decltype(field)>;
        if constexpr (std::is_same_v<T, std::string>) {
          if (!option.words.empty()) {
            check_word(option.words, text, what);
          }
          if (names_path(option.placeholder)) {
            require_no_tilde(text, what);
          }
          field = text;
        } else if constexpr (std::is_same_v<T, bool>) {
          field = parse_bool(text, what);
        } else if constexpr (std::is_same_v<T, std::uint64_t>) {
          field = parse_unsigned(text, what);
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          const std::int64_t value = parse_int(text, what);
          check_range(option, static_cast<double>(value), text, what);
          field = value;
        } else if constexpr (std::is_same_v<T, double>) {
          const double value = parse_double(text, what);
          check_range(option, value, text, what);
          field = value;
        } else {
          T values = parse_list(text, what);
          for (const double value : values) {
            check_range(option, value, number_text(value), what);
          }
          field = std::move(values);
        }
      },
      option.value);
}

void reset_option(RunConfig& config, const Option& option) {
  const RunConfig defaults;
  std::visit([&](const auto& binding) { binding.ref(config) = binding.get(defaults); },
             option.value);
}

std::string option_text(const RunConfig& config, const Option& option) {
  return std::visit(
      [&](const auto& binding) -> std::string {
        const auto& field = binding.get(config);
        using T = std::remove_cvref_t<decltype(field)>;
        if constexpr (std::is_same_v<T, std::string>) {
          return field;
        } else if constexpr (std::is_same_v<T, bool>) {
          return field ? "true" : "false";
        } else if constexpr (std::is_same_v<T, double>) {
          return number_text(field);
        } else if constexpr (std::is_integral_v<T>) {
          return std::to_string(field);
        } else {
          std::string text;
          for (const double value : field) {
            text += (text.empty() ? "" : ", ") + number_text(value);
          }
          return text;
        }
      },
      option.value);
}

std::string file_value_text(const RunConfig& config, const Option& option) {
  const std::string text = option_text(config, option);
  return needs_quotes(text) ? quote(text) : text;
}

}  // namespace lockstep
