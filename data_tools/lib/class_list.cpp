#include "lib/class_list.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "lockstep/base/check.hpp"
#include "lockstep/base/utf8.hpp"
#include "lockstep/base/whole_file.hpp"

namespace lockstep::tools {
namespace {

constexpr std::size_t kLongestName = 255;  // bytes, as file systems have it

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The digits at a place without leading zeros; moves the place behind them.
std::string_view take_number(const std::string& text, std::size_t& at) {
  while (at < text.size() && text[at] == '0') ++at;
  const std::size_t begin = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  return std::string_view(text).substr(begin, at - begin);
}

}  // namespace

bool natural_less(const std::string& a, const std::string& b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const std::string_view x = take_number(a, i);
      const std::string_view y = take_number(b, j);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else {
      if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
      ++i;
      ++j;
    }
  }
  if (i < a.size() || j < b.size()) return i == a.size();
  return a < b;
}

void sort_classes(std::vector<std::string>& classes, ClassOrder order) {
  if (order == ClassOrder::kNatural) {
    std::sort(classes.begin(), classes.end(), natural_less);
  } else {
    std::sort(classes.begin(), classes.end());
  }
}

std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  std::size_t from = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  while (from < text.size()) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    std::string name = text.substr(from, end - from);
    if (name.ends_with('\r')) name.pop_back();
    if (!name.empty()) names.push_back(std::move(name));
    from = end + 1;
  }
  return names;
}

std::string fault_of_classes(const std::vector<std::string>& classes) {
  if (classes.empty()) return "it names no class";
  std::set<std::string_view> seen;
  for (const std::string& name : classes) {
    const bool control = std::any_of(name.begin(), name.end(),
                                     [](char c) { return (c >= 0 && c < ' ') || c == 127; });
    if (!is_utf8(name) || control) {
      return "the class '" + escaped(name) + "' is not plain UTF-8 text";
    }
    if (name.empty()) return "a class has no name";
    if (name.size() > kLongestName) {
      return "the class '" + name.substr(0, 20) + "...' is longer than " +
             std::to_string(kLongestName) + " bytes";
    }
    if (!seen.insert(name).second) return "the class '" + name + "' is named twice";
  }
  return {};
}

std::vector<std::string> read_class_list(const std::string& file) {
  constexpr std::int64_t kLargest = 64 << 20U;
  Bytes bytes;
  std::string why = read_whole_file(file, kLargest, bytes);
  std::vector<std::string> classes;
  if (why.empty()) {
    classes = names_in({bytes.begin(), bytes.end()});
    why = fault_of_classes(classes);
  }
  if (!why.empty()) {
    throw UsageError("the class list '" + file + "' cannot be used", why,
                     "give a text file with the name of one class on each line");
  }
  return classes;
}

}  // namespace lockstep::tools
