#pragma once

#include <string>
#include <vector>

#include "lockstep/base/cli.hpp"
#include "lockstep/comm/collectives.hpp"
#include "lockstep/comm/mpi_session.hpp"
#include "lockstep/report/run_log.hpp"

namespace lockstep::jobs {

/// What main hands to a job.
struct JobContext {
  const std::vector<std::string>& args;  ///< without the program's name
  const CommandLine& command_line;
  comm::MpiSession& session;
  comm::Collectives& control;
  report::RunLog& log;
};

/// One verb of the executable. `run` throws on failure (comm::AgreedError when all ranks know).
struct Job {
  std::string verb;
  std::string summary;  ///< one line for the help
  void (*run)(JobContext& context);
};

/// The table of jobs: the one place where a verb is added.
[[nodiscard]] const std::vector<Job>& job_table();
[[nodiscard]] std::vector<std::string> job_verbs();

void run_train(JobContext& context);
void run_evaluate(JobContext& context);

}  // namespace lockstep::jobs
