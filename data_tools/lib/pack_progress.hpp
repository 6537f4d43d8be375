#pragma once

#include <chrono>
#include <cstddef>

namespace lockstep::tools {

/// Says on stderr how far packing is: redrawn on a terminal, else a line every few seconds.
class PackProgress {
 public:
  explicit PackProgress(std::size_t total);
  ~PackProgress();
  PackProgress(const PackProgress&) = delete;
  PackProgress& operator=(const PackProgress&) = delete;
  void update(std::size_t done);

 private:
  std::size_t total_;
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace lockstep::tools
