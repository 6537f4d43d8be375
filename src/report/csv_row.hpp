#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::report {

/// A line of comma-separated values, without its end. Floating point is the shortest text that
/// reads back as the same number, with a point whatever the locale; text is quoted where RFC 4180
/// asks for it.
class CsvRow {
 public:
  template <typename T>
  requires std::floating_point<T> || std::integral<T> CsvRow& operator<<(T value) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    return add({text.data(), static_cast<std::size_t>(end - text.data())});
  }
  CsvRow& operator<<(const std::string& text);
  /// Nothing becomes an empty field.
  CsvRow& operator<<(const std::optional<double>& value) {
    return value ? *this << *value : empty(1);
  }
  CsvRow& empty(int count);
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  CsvRow& add(std::string_view field);

  bool first_ = true;
  std::string text_;
};

}  // namespace lockstep::report
