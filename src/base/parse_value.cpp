#include "parse_value.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>

#include "lockstep/base/check.hpp"
#include "lockstep/base/cli.hpp"

namespace lockstep {
namespace {

constexpr std::string_view kSpace = " \t\r\n\f\v";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string quoted(const std::string& text) { return "'" + text + "'"; }

// What a person most likely meant by a text that is no number.
std::string number_hint(const std::string& text, bool whole) {
  if (text.empty()) {
    return "give a value";
  }
  if (kSpace.find(text.front()) != std::string_view::npos ||
      kSpace.find(text.back()) != std::string_view::npos) {
    return "remove the spaces around it";
  }
  if (text.find(',') != std::string::npos) {
    return whole ? "write it without commas" : "write a point, not a comma, before the decimals";
  }
  if (text.starts_with('+')) {
    return "leave out the plus sign";
  }
  if (text.find("0x") != std::string::npos || text.find("0X") != std::string::npos) {
    return "write it in decimal digits";
  }
  if (text.find("nan") != std::string::npos || text.find("inf") != std::string::npos) {
    return "only finite numbers are allowed";
  }
  if (is_digit(text.front()) && std::isalpha(static_cast<unsigned char>(text.back())) != 0) {
    return "write the number out, without a suffix";
  }
  return whole ? "write a whole number such as 3" : "write a number such as 3, 0.1 or 1e-3";
}

template <typename T>
std::errc convert(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto [rest, status] = std::from_chars(text.data(), end, value);
  return status == std::errc{} && rest != end ? std::errc::invalid_argument : status;
}

// from_chars is independent of the locale but takes inf and nan, which have letters beyond e.
bool looks_like_real(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_digit(c) || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
  });
}

bool try_real(const std::string& text, double& value, std::errc& status) {
  status = looks_like_real(text) ? convert(text, value) : std::errc::invalid_argument;
  return status == std::errc{} && std::isfinite(value);
}

template <typename T>
T parse_whole(const std::string& text, const std::string& what) {
  T value{};
  const std::errc status = convert(text, value);
  if (status == std::errc{}) {
    return value;
  }
  if (status == std::errc::result_out_of_range) {
    throw UsageError(what + ": " + quoted(text) + " is too large",
                     "an integer has at most 64 bits here", "choose a smaller number");
  }
  // 1e5 and 1.0 are numbers, but an integer is written in digits alone.
  double real = 0;
  std::errc real_status{};
  std::string hint = number_hint(text, true);
  if (try_real(text, real, real_status)) {
    hint = "write a whole number in digits";
    if (real == std::floor(real) && std::abs(real) < 0x1p53 && (std::is_signed_v<T> || real >= 0)) {
      hint = "write " + std::to_string(static_cast<T>(real));
    } else if (real < 0) {
      hint = "negative numbers are not allowed here";
    }
  }
  throw UsageError(what + ": " + quoted(text) + " is not a whole number",
                   "only digits are allowed, without point, exponent or suffix", hint);
}

}  // namespace

double parse_double(const std::string& text, const std::string& what) {
  double value = 0;
  std::errc status{};
  if (try_real(text, value, status)) {
    return value;
  }
  if (status == std::errc::result_out_of_range) {
    throw UsageError(what + ": " + quoted(text) + " does not fit into a 64-bit number",
                     "its size lies outside 1e-308 to 1e308", "choose another number");
  }
  throw UsageError(what + ": " + quoted(text) + " is not a number",
                   "digits, one point and an exponent are allowed", number_hint(text, false));
}

std::int64_t parse_int(const std::string& text, const std::string& what) {
  return parse_whole<std::int64_t>(text, what);
}

std::uint64_t parse_unsigned(const std::string& text, const std::string& what) {
  return parse_whole<std::uint64_t>(text, what);
}

bool parse_bool(const std::string& text, const std::string& what) {
  std::string word = text;
  // ASCII by hand: std::tolower follows the locale.
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (word == "true" || word == "yes" || word == "on" || word == "1") {
    return true;
  }
  if (word == "false" || word == "no" || word == "off" || word == "0") {
    return false;
  }
  throw UsageError(what + ": " + quoted(text) + " is neither true nor false",
                   "allowed: true, false, yes, no, on, off, 1, 0", "write one of them");
}

std::vector<double> parse_list(const std::string& text, const std::string& what) {
  std::vector<double> values;
  std::size_t position = text.find_first_not_of(kSpace);
  while (position != std::string::npos) {
    const std::size_t end =
        std::min(text.find_first_of(std::string(kSpace) + ",", position), text.size());
    values.push_back(parse_double(text.substr(position, end - position), what));
    position = text.find_first_not_of(kSpace, end);
    if (position != std::string::npos && text[position] == ',') {
      position = text.find_first_not_of(kSpace, position + 1);
      if (position == std::string::npos) {
        throw UsageError(what + ": the list " + quoted(text) + " ends with a comma",
                         "a number must follow", "remove the comma");
      }
    }
  }
  return values;
}

void require_no_tilde(const std::string& path, const std::string& what) {
  if (path == "~" || path.starts_with("~/")) {
    throw UsageError(what + ": the ~ of " + quoted(path) + " is not expanded here",
                     "only a shell does that", "write the whole path, or ${HOME} in the shell");
  }
}

}  // namespace lockstep
