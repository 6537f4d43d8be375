#include "lockstep/comm/mpi_session.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "launcher.hpp"
#include "mpi_check.hpp"

namespace lockstep::comm {
namespace {

World read_world() {
  World world;
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &world.rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &world.size), "MPI_Comm_size");
  MPI_Comm host = MPI_COMM_NULL;
  check_mpi(
      MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world.rank, MPI_INFO_NULL, &host),
      "MPI_Comm_split_type");
  check_mpi(MPI_Comm_rank(host, &world.local_rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(host, &world.local_size), "MPI_Comm_size");
  check_mpi(MPI_Comm_free(&host), "MPI_Comm_free");
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  check_mpi(MPI_Get_processor_name(name.data(), &length), "MPI_Get_processor_name");
  world.host.assign(name.data(), static_cast<std::size_t>(length));
  return world;
}

const char* environment(const char* variable) { return std::getenv(variable); }

bool mpi_is_up() {
  int initialized = 0;
  int finalized = 0;
  return MPI_Initialized(&initialized) == MPI_SUCCESS && initialized != 0 &&
         MPI_Finalized(&finalized) == MPI_SUCCESS && finalized == 0;
}

/// Some calls wait for all ranks and cannot be asked whether they are done: a thread watches them.
class CallDeadline {
 public:
  /// `message` is what is said before the process ends.
  CallDeadline(double seconds, std::string message) {
    watcher_ = std::thread([this, seconds, message = std::move(message)] {
      std::unique_lock lock(mutex_);
      if (wake_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return done_; })) {
        return;
      }
      std::fprintf(stderr, "lockstep: error: %s\n", message.c_str());
      std::fflush(nullptr);
      std::_Exit(1);
    });
  }
  CallDeadline(const CallDeadline&) = delete;
  CallDeadline& operator=(const CallDeadline&) = delete;
  ~CallDeadline() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    wake_.notify_all();
    watcher_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::thread watcher_;
};

std::string seconds_text(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g s", seconds);
  return text.data();
}

/// Seconds that the start may take; no option is read before it.
double start_timeout() {
  constexpr double kDefault = 120;
  const char* given = environment("LOCKSTEP_START_TIMEOUT");
  const double seconds = given == nullptr ? kDefault : std::strtod(given, nullptr);
  return seconds > 0 && seconds < 1e7 ? seconds : kDefault;
}

std::string start_message(double seconds) {
  return "MPI_Init did not finish within " + seconds_text(seconds) +
         " (a rank is missing, has stopped, or runs another program) - look at the other ranks, or "
         "set LOCKSTEP_START_TIMEOUT to more seconds";
}

std::string end_message(double seconds, int rank) {
  return "rank " + std::to_string(rank) + ": MPI_Finalize did not finish within " +
         seconds_text(seconds) +
         " (another rank stopped or hangs) - look at the messages of the other ranks, or raise "
         "comm.timeout";
}

}  // namespace

MpiSession::MpiSession(int& argc, char**& argv) {
  int initialized = 0;
  check_mpi(MPI_Initialized(&initialized), "MPI_Initialized");
  require(initialized == 0, "a second MPI session was asked for",
          "MPI can be started once in a process", "make one MpiSession in main and pass it on");
#ifdef OPEN_MPI
  // Without a rendezvous Open MPI sees one task, or ends the process inside MPI_Init with words
  // about its own build.
  if (!offers_rendezvous(environment)) {
    check_launcher(1, environment);
    // A lone process would start a daemon of Open MPI's beside it, for MPI_Comm_spawn alone.
    ::setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  }
#endif
  // A watchdog thread may speak beside the training thread; who finds a lower level acts alone.
  int provided = MPI_THREAD_SINGLE;
  {
    const double seconds = start_timeout();
    const CallDeadline deadline(seconds, start_message(seconds));
    check_mpi(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread");
  }
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  world_ = read_world();
  try {
    check_launcher(world_.size, environment);
  } catch (...) {
    MPI_Finalize();  // no destructor will: the object was never made
    throw;
  }
}

MpiSession::~MpiSession() {
  // On the way out of an exception the other ranks may be anywhere: MPI_Finalize would wait for
  // them.
  if (std::uncaught_exceptions() > 0 || !mpi_is_up()) return;
  const CallDeadline deadline(timeout_s_, end_message(timeout_s_, world_.rank));
  if (MPI_Finalize() != MPI_SUCCESS) std::fputs("MPI_Finalize failed\n", stderr);
}

std::string MpiSession::library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  check_mpi(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  std::string first(text.data());
  first.resize(std::min(first.find('\n'), first.size()));
  // MPICH writes its version behind a tab.
  std::replace(first.begin(), first.end(), '\t', ' ');
  return first;
}

void MpiSession::abort(int exit_code) {
  std::fflush(nullptr);
  if (mpi_is_up()) MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

}  // namespace lockstep::comm
