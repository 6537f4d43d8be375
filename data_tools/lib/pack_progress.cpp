#include "lib/pack_progress.hpp"

#include <unistd.h>

#include <cstdio>

namespace lockstep::tools {

PackProgress::PackProgress(std::size_t total)
    : total_(total),
      terminal_(::isatty(STDERR_FILENO) == 1),
      begin_(std::chrono::steady_clock::now()),
      last_(begin_) {}

PackProgress::~PackProgress() {
  if (terminal_ && drawn_) std::fputs("\r\033[K", stderr);
}

void PackProgress::update(std::size_t done) {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < std::chrono::milliseconds(terminal_ ? 200 : 5000)) return;
  last_ = now;
  drawn_ = true;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  const double rate = static_cast<double>(done) / seconds;
  std::fprintf(stderr, "%spacked %zu of %zu pictures, %.0f/s, %.0f s left%s",
               terminal_ ? "\r\033[K" : "", done, total_, rate,
               static_cast<double>(total_ - done) / rate, terminal_ ? "" : "\n");
  std::fflush(stderr);
}

}  // namespace lockstep::tools
