#include "lockstep/report/run_log.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <vector>

#include "fd_sink.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/system.hpp"

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
    logger->log(spdlog_level(level), spdlog::string_view_t(line(module, message)));
  }

  [[nodiscard]] std::string line(std::string_view module, std::string_view message) const {
    std::string text(module);
    text += "  ";
    if (rank != 0) text += "[rank " + std::to_string(rank) + "] ";
    text += message;
    return text;
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
  std::shared_ptr<FdSink> file;
  std::string failures;  ///< of a rank other than 0: the file for its last words
  std::unique_ptr<spdlog::logger> logger;
};

RunLog::RunLog(int rank, Level level) : impl_(std::make_unique<Impl>(rank, level)) {
  // A reader that leaves (`lockstep train | head`) shall not kill the run.
  turn_signal_into_error(SIGPIPE);
}

RunLog::~RunLog() = default;

void RunLog::add_file(const std::string& file) {
  if (impl_->rank != 0) {
    impl_->failures = file;
    return;
  }
  impl_->file = std::make_shared<FdSink>(file);
  impl_->add(impl_->file);
}

void RunLog::write(Level level, std::string_view module, std::string_view message) {
  if (level < impl_->least) return;
  impl_->put(level, module, message);
  impl_->report_failures();
}

void RunLog::result(std::string_view module, std::string_view message) {
  if (impl_->rank != 0) return;
  impl_->put(Level::kInfo, module, message);
  impl_->report_failures();
}

bool RunLog::console_failed() const {
  return std::any_of(impl_->sinks.begin(), impl_->sinks.end(),
                     [&](const auto& sink) { return sink != impl_->file && sink->failed(); });
}

void RunLog::record(Level level, std::string_view module, std::string_view message) {
  std::shared_ptr<FdSink> file = impl_->file;
  if (!file && !impl_->failures.empty()) {
    try {
      file = std::make_shared<FdSink>(impl_->failures);
    } catch (const Error&) {
      return;  // a node that does not see the folder: the console has it
    }
  }
  if (!file) return;
  spdlog::logger to_file("", file);
  to_file.set_level(spdlog::level::trace);
  to_file.log(spdlog_level(level), spdlog::string_view_t(impl_->line(module, message)));
  to_file.flush();
}

void RunLog::flush() { impl_->logger->flush(); }

std::string logging_version() {
  return "spdlog " + std::to_string(SPDLOG_VER_MAJOR) + "." + std::to_string(SPDLOG_VER_MINOR) +
         "." + std::to_string(SPDLOG_VER_PATCH);
}

Level level_from_name(std::string_view name) {
  if (name == "debug") return Level::kDebug;
  if (name == "info") return Level::kInfo;
  if (name == "warning") return Level::kWarning;
  if (name == "error") return Level::kError;
  throw UsageError("there is no log level \"" + std::string(name) + "\"",
                   "the levels are debug, info, warning and error", "choose one of them");
}

}  // namespace lockstep::report
