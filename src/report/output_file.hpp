#pragma once

#include <cstdio>
#include <string>

namespace lockstep::report {

/// A file that a person named for the output of a program: what was there stays until close(), and
/// a process that ends before has changed nothing. A symbolic link is followed; what is no regular
/// file (a device, a pipe) is written to as it is.
class OutputFile {
 public:
  /// False with errno set when it cannot be opened.
  [[nodiscard]] bool open(const std::string& path);
  OutputFile() = default;
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  [[nodiscard]] std::FILE* stream() const noexcept { return stream_; }
  /// Puts it in place; false with errno set when that cannot be done.
  [[nodiscard]] bool close();

 private:
  [[nodiscard]] int open_staged();
  [[nodiscard]] bool put_in_place();

  std::string path_;
  std::string staged_;  ///< its name until close(); empty: it has none, or is written to directly
  bool direct_ = false;
  std::FILE* stream_ = nullptr;
};

}  // namespace lockstep::report
