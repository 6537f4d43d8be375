#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "job.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/cli.hpp"
#include "lockstep/base/fault.hpp"
#include "lockstep/base/system.hpp"
#include "lockstep/comm/mpi_session.hpp"
#include "lockstep/report/run_log.hpp"
#include "lockstep/train/stop_signal.hpp"

namespace {

using namespace lockstep;

void say_error(const std::string& message) { std::cerr << "lockstep: error: " << message << '\n'; }

/// A cause that all ranks share (a file that was cut) is told once: the first to abort ends the
/// others before their turn comes.
void await_lower_ranks(int rank) {
  constexpr int kRanksThatWait = 10;
  std::this_thread::sleep_for(std::min(rank, kRanksThatWait) * std::chrono::milliseconds(300));
}

std::string request(const CommandLine& line) {
  std::string text = line.verb;
  for (const auto& [name, wanted] :
       {std::pair("help", line.help), std::pair("version", line.version),
        std::pair("options", line.list_options), std::pair("print-config", line.print_config)}) {
    text += wanted ? std::string(" --") + name : "";
  }
  for (const auto& [name, values] : line.verb_options) {
    for (const std::string& value : values) {
      text += " --" + name + " " + value;
    }
  }
  return text;
}

/// Such a verb shows its configuration itself, once it knows what the checkpoint brings.
bool takes_checkpoint(const std::string& verb) {
  return !jobs::program().find_verb(verb)->inherits.empty();
}

/// --help, --version and the like; true when there was such a request.
bool answer(const CommandLine& command_line, bool speak) {
  std::string text;
  if (command_line.help) {
    text = help_text(jobs::program(), command_line.verb);
  } else if (command_line.version) {
    text = jobs::version_text();
  } else if (command_line.list_options) {
    for (const std::string& key : option_keys()) {
      text += key + "\n";
    }
  } else if (command_line.print_config && !takes_checkpoint(command_line.verb)) {
    text = print_config_text(command_line);
  } else {
    return false;
  }
  if (speak) {
    jobs::print_output(text);
  }
  return true;
}

ExitCode run(const std::vector<std::string>& args, comm::MpiSession& session,
             const train::StopSignal* stop) {
  const comm::World& world = session.world();
  auto start = session.make_collectives({.name = "start"});
  CommandLine command_line;
  comm::agreed_phase(*start, [&] {
    command_line = parse_command_line(args, jobs::program());
    validate(command_line.config);
    FaultPoint(command_line.config.fault, world.rank).at("config");
  });
  // A rank that leaves after --help would let the others wait.
  comm::require_same(*start, request(command_line), "what it is asked to do");
  if (answer(command_line, world.is_root())) {
    return ExitCode::kDone;
  }
  comm::require_same(*start, config_hash(command_line.config), "the configuration");

  const RunConfig& config = command_line.config;
  session.set_timeout(config.comm.timeout);
  auto control = session.make_collectives({.name = "control", .timeout_s = config.comm.timeout});
  report::RunLog log(world.rank, report::level_from_name(config.run.log_level));
  jobs::JobContext context{args, command_line, session, *control, log, stop};
  const auto& table = jobs::job_table();
  const auto job = std::find_if(table.begin(), table.end(), [&](const auto& entry) {
    return entry.verb.name == command_line.verb;
  });
  try {
    const ExitCode code = job->run(context);
    FaultPoint(config.fault, world.rank).at("exit");
    // MPI_Finalize would wait without naming who is missing.
    comm::all_agree(*control, "");
    return code;
  } catch (const std::exception& error) {
    // Of a failure that all know, rank 0 keeps the record.
    if (world.is_root() || dynamic_cast<const comm::AgreedError*>(&error) == nullptr) {
      log.record(report::Level::kError, "run", message_of(error));
    }
    throw;
  }
}

int run_program(int argc, char** argv) {
  // The start takes seconds: who asks for a stop meanwhile gets it at the first update.
  std::optional<train::StopSignal> stop;
  if (argc > 1 && std::string_view(argv[1]) == "train") {
    stop.emplace();
  }
  try {
    comm::MpiSession session(argc, argv);
    const int rank = session.world().rank;
    const std::string who = session.world().size > 1 ? "rank " + std::to_string(rank) + ": " : "";
    try {
      return static_cast<int>(
          run(std::vector<std::string>(argv + 1, argv + argc), session, stop ? &*stop : nullptr));
    } catch (const comm::AgreedError& error) {
      if (error.speaker() == rank) {
        say_error(who + error.what());
      }
      return static_cast<int>(error.code());
    } catch (const std::exception& error) {
      stop.reset();  // the rank that aborts first ends this one by SIGTERM
      await_lower_ranks(rank);
      say_error(who + message_of(error));
      const auto* ours = dynamic_cast<const Error*>(&error);
      comm::MpiSession::abort(static_cast<int>(ours != nullptr ? ours->code() : ExitCode::kFailed));
    }
  } catch (const Error& error) {  // MPI itself could not start
    say_error(error.what());
    return static_cast<int>(error.code());
  }
}

}  // namespace

int main(int argc, char** argv) {
  hold_standard_streams();
  turn_signal_into_error(SIGXFSZ);
  end_process(run_program(argc, argv));
}
