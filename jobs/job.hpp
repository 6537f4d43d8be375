#pragma once

#include <string>
#include <vector>

#include "lockstep/base/check.hpp"
#include "lockstep/base/cli.hpp"
#include "lockstep/comm/collectives.hpp"
#include "lockstep/comm/mpi_session.hpp"
#include "lockstep/report/run_log.hpp"
#include "lockstep/train/stop_signal.hpp"

namespace lockstep::jobs {

/// What main hands to a job.
struct JobContext {
  const std::vector<std::string>& args;  ///< without the program's name
  const CommandLine& command_line;
  comm::MpiSession& session;
  comm::Collectives& control;
  report::RunLog& log;
  const train::StopSignal* stop;  ///< since the program began; null: none was caught yet
};

/// One verb of the executable. `run` throws on failure (comm::AgreedError when all ranks know);
/// else it returns, the same on all ranks, kDone or kStopRequested.
struct Job {
  Verb verb;
  ExitCode (*run)(JobContext& context);
};

/// The table of jobs: the one place where a verb is added.
[[nodiscard]] const std::vector<Job>& job_table();

/// What the command line needs to know: the verbs, and the words of models, optimizers, schedules.
[[nodiscard]] const Program& program();

/// What --version says: this build and the libraries it runs with.
[[nodiscard]] std::string version_text();

/// Writes what was asked for to the standard output; throws Error when that cannot be done.
void print_output(const std::string& text);

/// One warning, on rank 0, that names the keys which the configuration leaves without effect.
void log_ignored(JobContext& context);

[[nodiscard]] ExitCode run_train(JobContext& context);
[[nodiscard]] ExitCode run_evaluate(JobContext& context);
[[nodiscard]] ExitCode run_predict(JobContext& context);
[[nodiscard]] ExitCode run_info(JobContext& context);

}  // namespace lockstep::jobs
