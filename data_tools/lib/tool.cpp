#include "lib/tool.hpp"

#include <sched.h>

#include <csignal>
#include <iostream>
#include <sstream>

#include "lockstep/base/check.hpp"
#include "lockstep/base/cli.hpp"
#include "lockstep/base/system.hpp"

namespace lockstep::tools {

int run_tool(const std::string& name, const std::function<void()>& body) {
  const auto say = [&](const std::string& message) {
    std::cerr << name << ": error: " << message << '\n';
  };
  hold_standard_streams();
  turn_signal_into_error(SIGXFSZ);
  // Nobody may be left to read the progress; the work goes on.
  turn_signal_into_error(SIGPIPE);
  try {
    body();
    std::cout << std::flush;
    require(std::cout.good(), "the output cannot be written", errno_text(),
            "free space where the standard output goes");
    return static_cast<int>(ExitCode::kDone);
  } catch (const Error& error) {
    say(error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    say(message_of(error));
    return static_cast<int>(ExitCode::kFailed);
  }
}

std::int64_t parse_count(const std::string& text, const std::string& option, std::int64_t low,
                         std::int64_t high) {
  const std::int64_t value = parse_int(text, option);
  if (value < low || value > high) {
    throw UsageError(option + " " + text + " is out of range",
                     "allowed: " + std::to_string(low) + " to " + std::to_string(high),
                     "give a number in between");
  }
  return value;
}

std::array<std::int64_t, 2> parse_size(const std::string& text) {
  constexpr std::int64_t kLargest = 65535;
  const std::size_t cross = text.find('x');
  if (text.empty() || cross == 0 || cross + 1 == text.size() ||
      text.find_first_not_of("0123456789x") != std::string::npos || cross != text.rfind('x')) {
    throw UsageError("--size '" + text + "' is no size",
                     "it is one whole number, or height x width", "write 32 or 32x48, say");
  }
  const std::int64_t height = parse_count(text.substr(0, cross), "--size", 1, kLargest);
  if (cross == std::string::npos) return {height, height};
  return {height, parse_count(text.substr(cross + 1), "--size", 1, kLargest)};
}

std::array<std::uint8_t, 3> parse_colour(const std::string& text) {
  std::array<std::uint8_t, 3> colour{};
  std::istringstream in(text);
  std::string part;
  std::size_t n = 0;
  while (std::getline(in, part, ',')) {
    if (n < colour.size()) {
      colour[n] = static_cast<std::uint8_t>(parse_count(part, "--background", 0, 255));
    }
    ++n;
  }
  if (n != colour.size()) {
    throw UsageError("--background '" + text + "' is no colour", "it needs red, green and blue",
                     "write three numbers from 0 to 255, such as 255,255,255");
  }
  return colour;
}

std::int64_t available_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  return sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 1;
}

}  // namespace lockstep::tools
