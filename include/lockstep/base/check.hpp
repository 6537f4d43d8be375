#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lockstep {

/// Exit codes of every program of this project; the help shows the same table.
enum class ExitCode : int {
  kDone = 0,           ///< all work done
  kFailed = 1,         ///< the run failed
  kUsage = 2,          ///< wrong use or wrong configuration
  kStopRequested = 85  ///< saved and stopped on request, go on later
};

/// An error a person can act on. what() reads "problem (why) - what to do".
class Error : public std::runtime_error {
 public:
  Error(std::string_view problem, std::string_view why, std::string_view hint,
        ExitCode code = ExitCode::kFailed);

  [[nodiscard]] ExitCode code() const noexcept { return code_; }

 protected:
  /// For a message that was already composed (on another rank, say).
  Error(const std::string& message, ExitCode code) : std::runtime_error(message), code_(code) {}

 private:
  ExitCode code_;
};

/// Wrong command line or configuration: exit code 2.
class UsageError : public Error {
 public:
  UsageError(std::string_view problem, std::string_view why, std::string_view hint)
      : Error(problem, why, hint, ExitCode::kUsage) {}
};

/// Throws Error unless `holds`.
void require(bool holds, std::string_view problem, std::string_view why, std::string_view hint);

/// The message of any exception in the form of Error's: a lack of memory gets a reason and an
/// advice, a backtrace that LibTorch appends is left out.
[[nodiscard]] std::string message_of(const std::exception& error);

/// The text of the current errno, for the "why" of a failed system call.
[[nodiscard]] std::string errno_text();

/// The candidate closest to `word` (edit distance), or "" when none is near (more than a third of
/// the letters differ).
template <typename Range>
[[nodiscard]] std::string nearest_name(std::string_view word, const Range& candidates);

/// Levenshtein distance between two byte strings.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

template <typename Range>
std::string nearest_name(std::string_view word, const Range& candidates) {
  std::string best;
  std::size_t best_distance = word.size() / 3 + 2;
  for (const auto& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = std::string(candidate);
    }
  }
  return best;
}

}  // namespace lockstep
