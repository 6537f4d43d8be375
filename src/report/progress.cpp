#include "lockstep/report/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "lockstep/base/check.hpp"
#include "lockstep/base/wording.hpp"

namespace lockstep::report {

namespace {

using Seconds = std::chrono::duration<double>;

constexpr double kRedrawInterval = 0.1;  // seconds; faster is only flicker
constexpr int kDefaultColumns = 80;
constexpr int kShortestBar = 5;
constexpr int kLongestBar = 40;

int terminal_columns() noexcept {
  struct winsize size {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return kDefaultColumns;
}

/// A failing terminal or pipe takes nothing from the run: only the display is lost.
void show(const std::string& text) noexcept {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

std::string numbers(std::int64_t done, std::int64_t total, std::int64_t images, double elapsed,
                    double loss, double learning_rate) {
  const double rate = elapsed > 0 ? static_cast<double>(images) / elapsed : 0;
  const double left =
      done > 0 ? elapsed / static_cast<double>(done) * static_cast<double>(total - done) : NAN;
  char text[160];
  std::snprintf(text, sizeof(text), "loss %s  lr %.4g  %.0f images/s  %s left",
                loss_text(loss).c_str(), learning_rate, rate, duration_text(left).c_str());
  return text;
}

/// [=====>    ], `columns` wide in all.
std::string bar(std::int64_t done, std::int64_t total, int columns) {
  const int inner = columns - 2;
  const double share =
      total > 0 ? std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0) : 1;
  const int filled = static_cast<int>(share * inner);
  std::string text = "[" + std::string(static_cast<std::size_t>(filled), '=');
  if (filled < inner) text += ">" + std::string(static_cast<std::size_t>(inner - filled - 1), ' ');
  return text + "]";
}

/// Whether a person's terminal shows what this process prints. OpenMPI gives each rank a
/// pseudo-terminal of its own, also when the output of mpirun goes to a file: there the launcher's
/// standard output, that of the parent process, decides.
bool terminal_shows_output() {
  if (::isatty(STDOUT_FILENO) == 0) return false;
  if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr) return true;
  const std::string link = "/proc/" + std::to_string(::getppid()) + "/fd/1";
  std::array<char, 256> target{};
  const ssize_t length = ::readlink(link.c_str(), target.data(), target.size() - 1);
  const std::string_view name(target.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  return name.starts_with("/dev/pts/") || name.starts_with("/dev/tty");
}

}  // namespace

ProgressMode progress_mode(const std::string& option) {
  if (option == "auto") return terminal_shows_output() ? ProgressMode::kBar : ProgressMode::kPlain;
  if (option == "bar") return ProgressMode::kBar;
  if (option == "plain") return ProgressMode::kPlain;
  if (option == "off") return ProgressMode::kOff;
  throw UsageError("there is no progress display \"" + option + "\"",
                   "the displays are auto, bar, plain and off", "choose one of them");
}

Progress::Progress(ProgressMode mode, double interval_s) : mode_(mode), interval_s_(interval_s) {}

void Progress::start(const std::string& title, std::int64_t total_updates, std::int64_t done_before,
                     std::int64_t images_before) {
  finish();
  title_ = title;
  total_ = total_updates;
  done_before_ = done_before;
  images_before_ = images_before;
  begin_ = std::chrono::steady_clock::now();
  last_ = begin_;
}

void Progress::update(std::int64_t done_updates, std::int64_t images, double loss,
                      double learning_rate) {
  if (mode_ == ProgressMode::kOff) return;
  const auto now = std::chrono::steady_clock::now();
  const double since = Seconds(now - last_).count();
  if (mode_ == ProgressMode::kBar) {
    const bool due = !drawn_ || since >= kRedrawInterval || done_updates >= total_;
    if (!due) return;
  } else if (since < interval_s_) {
    return;
  }
  last_ = now;

  const std::string count = std::to_string(done_updates) + "/" + std::to_string(total_);
  const std::string values =
      numbers(done_updates - done_before_, total_ - done_before_, images - images_before_,
              Seconds(now - begin_).count(), loss, learning_rate);
  if (mode_ == ProgressMode::kPlain) {
    show(title_ + "  " + count + "  " + values + "\n");
    return;
  }
  // One column stays free: a full line makes some terminals wrap, and \r no longer reaches its
  // beginning. The bar takes what the numbers leave; without room for both it goes.
  const int columns = std::max(terminal_columns() - 1, 1);
  std::string line = title_ + "  ";
  const int room = columns - static_cast<int>(line.size() + count.size() + values.size() + 4);
  if (room >= kShortestBar) line += bar(done_updates, total_, std::min(room, kLongestBar)) + "  ";
  line += count + "  " + values;
  line.resize(std::min(line.size(), static_cast<std::size_t>(columns)));
  show("\r" + line + "\x1b[K");
  drawn_ = true;
}

void Progress::finish() {
  if (!drawn_) return;
  drawn_ = false;
  show("\r\x1b[K");
}

std::string duration_text(double seconds) {
  constexpr double kLongest = 1e7;  // 115 days: more is no estimate
  if (!(seconds >= 0 && seconds < kLongest)) return "--:--";
  const auto total = std::llround(seconds);
  char text[32];
  if (total >= 3600) {
    std::snprintf(text, sizeof(text), "%lld:%02lld:%02lld", total / 3600, total / 60 % 60,
                  total % 60);
  } else {
    std::snprintf(text, sizeof(text), "%02lld:%02lld", total / 60, total % 60);
  }
  return text;
}

}  // namespace lockstep::report
