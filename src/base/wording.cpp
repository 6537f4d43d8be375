#include "lockstep/base/wording.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace lockstep {

std::string counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string loss_text(double loss) {
  constexpr double kLargest = 1e6;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), std::abs(loss) < kLargest ? "%.4f" : "%.4g", loss);
  return text.data();
}

std::string number_text(double value) {
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), result.ptr};
}

}  // namespace lockstep
