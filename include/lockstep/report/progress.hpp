#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace lockstep::report {

enum class ProgressMode { kBar, kPlain, kOff };

/// "auto" is kBar when stdout is a terminal, else kPlain. Throws UsageError on another word.
[[nodiscard]] ProgressMode progress_mode(const std::string& option);

/// Shows how far an epoch is: on a terminal a bar that redraws itself, elsewhere a plain line every
/// `interval_s` seconds. Loss, learning rate, images/s and time left. Used on rank 0 alone.
class Progress {
 public:
  Progress(ProgressMode mode, double interval_s);
  /// Updates and images that were done before are no measure of the speed.
  void start(const std::string& title, std::int64_t total_updates, std::int64_t done_before = 0,
             std::int64_t images_before = 0);
  void update(std::int64_t done_updates, std::int64_t images, double loss, double learning_rate);
  /// Clears the bar so that a log line can follow.
  void finish();

 private:
  ProgressMode mode_;
  double interval_s_;
  std::string title_;
  std::int64_t total_ = 0;
  std::int64_t done_before_ = 0;
  std::int64_t images_before_ = 0;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point last_;
};

/// "1:02:03" or "02:03".
[[nodiscard]] std::string duration_text(double seconds);

}  // namespace lockstep::report
