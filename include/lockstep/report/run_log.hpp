#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace lockstep::report {

enum class Level { kDebug, kInfo, kWarning, kError };

/// Console (stderr for warnings and errors, stdout else) and, once a run folder is known, its
/// train.log. Rank 0 writes everything; other ranks only warnings and errors, with their rank.
/// Lines: "2026-11-30 04:26:05.123 info  train  message".
class RunLog {
 public:
  RunLog(int rank, Level level);
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  /// Adds FILE as a second destination on rank 0; on the others it is opened for record() alone.
  /// Throws Error when it cannot be opened.
  void add_file(const std::string& file);
  void write(Level level, std::string_view module, std::string_view message);
  void debug(std::string_view module, std::string_view message) {
    write(Level::kDebug, module, message);
  }
  void info(std::string_view module, std::string_view message) {
    write(Level::kInfo, module, message);
  }
  void warning(std::string_view module, std::string_view message) {
    write(Level::kWarning, module, message);
  }
  void error(std::string_view module, std::string_view message) {
    write(Level::kError, module, message);
  }
  /// What the program was asked for: written by rank 0 whatever the level.
  void result(std::string_view module, std::string_view message);
  /// Whether a line for the console was lost.
  [[nodiscard]] bool console_failed() const;
  /// Writes to the file alone, on any rank and whatever the level: what has been put on the console
  /// elsewhere.
  void record(Level level, std::string_view module, std::string_view message);
  void flush();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// "spdlog 1.10.0": the library that the log is written with.
[[nodiscard]] std::string logging_version();

/// "debug", "info", "warning", "error".
[[nodiscard]] Level level_from_name(std::string_view name);

}  // namespace lockstep::report
