#include "lockstep/report/run_log.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <vector>

#include "fd_sink.hpp"
#include "lockstep/base/check.hpp"

namespace lockstep::report {

namespace {

spdlog::level::level_enum spdlog_level(Level level) noexcept {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarning:
      return spdlog::level::warn;
    case Level::kError:
      break;
  }
  return spdlog::level::err;
}

/// A reader that leaves (`lockstep train | head`) shall not kill the run: writing then fails with
/// EPIPE instead, which the sinks handle. A handler that somebody else set stays.
void ignore_closed_pipes() noexcept {
  struct sigaction action {};
  if (::sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
    action.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &action, nullptr);
  }
}

}  // namespace

struct RunLog::Impl {
  Impl(int run_rank, Level run_level)
      : rank(run_rank), least(run_rank == 0 ? run_level : std::max(run_level, Level::kWarning)) {
    add(std::make_shared<FdSink>(stdout, "the console (stdout)", spdlog::level::trace,
                                 spdlog::level::info));
    add(std::make_shared<FdSink>(stderr, "the console (stderr)", spdlog::level::warn,
                                 spdlog::level::critical));
  }

  void add(const std::shared_ptr<FdSink>& sink) {
    sink->set_pattern("%Y-%m-%d %H:%M:%S.%e %l  %v");
    sinks.push_back(sink);
    logger = std::make_unique<spdlog::logger>("", sinks.begin(), sinks.end());
    logger->set_level(spdlog::level::trace);  // `least` decides
  }

  void put(Level level, std::string_view module, std::string_view message) {
    std::string line(module);
    line += "  ";
    if (rank != 0) line += "[rank " + std::to_string(rank) + "] ";
    line += message;
    logger->log(spdlog_level(level), spdlog::string_view_t(line));
  }

  /// Says once per destination, on the others, that it cannot be written.
  void report_failures() {
    for (std::size_t i = 0; i < sinks.size(); ++i) {
      const std::string failure = sinks[i]->take_failure();
      if (!failure.empty()) put(Level::kError, "log", failure);
    }
  }

  int rank;
  Level least;
  std::vector<std::shared_ptr<FdSink>> sinks;
  std::unique_ptr<spdlog::logger> logger;
};

RunLog::RunLog(int rank, Level level) : impl_(std::make_unique<Impl>(rank, level)) {
  ignore_closed_pipes();
}

RunLog::~RunLog() = default;

void RunLog::add_file(const std::string& file) {
  if (impl_->rank != 0) return;
  impl_->add(std::make_shared<FdSink>(file));
}

void RunLog::write(Level level, std::string_view module, std::string_view message) {
  if (level < impl_->least) return;
  impl_->put(level, module, message);
  impl_->report_failures();
}

void RunLog::flush() { impl_->logger->flush(); }

Level level_from_name(std::string_view name) {
  if (name == "debug") return Level::kDebug;
  if (name == "info") return Level::kInfo;
  if (name == "warning") return Level::kWarning;
  if (name == "error") return Level::kError;
  throw UsageError("there is no log level \"" + std::string(name) + "\"",
                   "the levels are debug, info, warning and error", "choose one of them");
}

}  // namespace lockstep::report
