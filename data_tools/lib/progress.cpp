#include "lib/progress.hpp"

#include <unistd.h>

#include <cstdio>

namespace lockstep::tools {

Progress::Progress(const char* done, std::size_t total)
    : done_(done),
      total_(total),
      terminal_(::isatty(STDERR_FILENO) == 1),
      begin_(std::chrono::steady_clock::now()),
      last_(begin_) {}

Progress::~Progress() {
  if (terminal_ && drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::update(std::size_t count) {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < std::chrono::milliseconds(terminal_ ? 200 : 5000)) return;
  last_ = now;
  drawn_ = true;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  const double rate = static_cast<double>(count) / seconds;
  std::fprintf(stderr, "%s%s %zu of %zu pictures, %.0f/s, %.0f s left%s",
               terminal_ ? "\r\033[K" : "", done_, count, total_, rate,
               static_cast<double>(total_ - count) / rate, terminal_ ? "" : "\n");
  std::fflush(stderr);
}

}  // namespace lockstep::tools
