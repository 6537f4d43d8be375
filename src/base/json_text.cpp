#include "lockstep/base/json_text.hpp"

#include <cstddef>

namespace lockstep {

std::string json_fault(std::string_view text) {
  constexpr std::size_t kDeepest = 64;
  std::size_t depth = 0;
  bool in_string = false;
  bool escaped = false;  // by a backslash before it
  for (const char c : text) {
    if (c == '\0') {
      return "it holds a zero byte";
    }
    if (in_string) {
      in_string = c != '"' || escaped;
      escaped = c == '\\' && !escaped;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest) {
        return "its brackets are nested too deeply";
      }
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return {};
}

}  // namespace lockstep
