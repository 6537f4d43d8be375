#pragma once

#include <chrono>
#include <cstddef>

namespace lockstep::tools {

/// Says on stderr how far a tool is: redrawn on a terminal, else a line every few seconds.
class Progress {
 public:
  /// `done` is what happens to the pictures: "packed".
  Progress(const char* done, std::size_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void update(std::size_t count);

 private:
  const char* done_;
  std::size_t total_;
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace lockstep::tools
