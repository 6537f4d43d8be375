#include "lockstep/base/utf8.hpp"

#include <array>
#include <cstdint>
#include <cstdio>

namespace lockstep {

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i++]);
    if (first < 0x80) continue;
    const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    if (first < 0xC2 || first > 0xF4 || text.size() - i < static_cast<std::size_t>(more)) {
      return false;
    }
    std::uint32_t point = first & (0x3FU >> static_cast<unsigned>(more));
    for (int k = 0; k < more; ++k) {
      const auto next = static_cast<unsigned char>(text[i++]);
      if ((next & 0xC0U) != 0x80U) return false;
      point = (point << 6U) | (next & 0x3FU);
    }
    // Longer than needed, half of a surrogate pair, or beyond the last code point.
    const std::uint32_t least = more == 3 ? 0x10000 : more == 2 ? 0x800 : 0x80;
    if (point < least || (point >= 0xD800 && point <= 0xDFFF) || point > 0x10FFFF) return false;
  }
  return true;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    std::array<char, 5> code{};
    std::snprintf(code.data(), code.size(), "\\x%02x", static_cast<unsigned char>(c));
    result += c >= ' ' && c < 127 ? std::string(1, c) : std::string(code.data());
  }
  return result;
}

}  // namespace lockstep
