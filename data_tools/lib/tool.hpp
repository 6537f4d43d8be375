#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

namespace lockstep::tools {

/// Runs a tool's body: prints an Error once, as "NAME: error: problem (why) - what to do", and
/// returns its exit code.
int run_tool(const std::string& name, const std::function<void()>& body);

/// "32" or "32x48" (height x width), each 1 to 65535. Throws UsageError.
[[nodiscard]] std::array<std::int64_t, 2> parse_size(const std::string& text);
/// "0,0,0": red, green, blue, each 0 to 255. Throws UsageError.
[[nodiscard]] std::array<std::uint8_t, 3> parse_colour(const std::string& text);
/// parse_int within [low, high]. Throws UsageError.
[[nodiscard]] std::int64_t parse_count(const std::string& text, const std::string& option,
                                       std::int64_t low, std::int64_t high);
/// Cores this process may use.
[[nodiscard]] std::int64_t available_cores();

}  // namespace lockstep::tools
