#pragma once

#include <spdlog/sinks/base_sink.h>

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

namespace lockstep::report {

/// A destination of log lines that survives a full disk and a closed pipe: it goes on trying, keeps
/// count of what is lost, and says so in the destination itself once it can be written again.
/// spdlog's own sinks either ignore such errors or buffer the lines that a killed run needs most.
class FdSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  /// An open stream, which stays open; takes the lines from level `from` up to level `to`.
  FdSink(std::FILE* stream, std::string name, spdlog::level::level_enum from,
         spdlog::level::level_enum to);
  /// Appends to a file and takes all lines. Throws Error when it cannot be opened.
  explicit FdSink(const std::string& file);
  ~FdSink() override;
  FdSink(const FdSink&) = delete;
  FdSink& operator=(const FdSink&) = delete;

  /// What went wrong first, once; empty otherwise.
  [[nodiscard]] std::string take_failure();
  [[nodiscard]] bool failed();

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}  // every line goes to the system at once

 private:
  bool put(std::string_view text);
  void note_failure(int error);

  std::FILE* stream_ = nullptr;  // null: a file of our own
  int fd_ = -1;
  std::string name_;
  spdlog::level::level_enum from_ = spdlog::level::trace;
  spdlog::level::level_enum to_ = spdlog::level::critical;
  std::int64_t lost_ = 0;  // lines since writing began to fail
  bool torn_ = false;      // the last line was cut off
  bool reported_ = false;
  std::string failure_;
};

}  // namespace lockstep::report
