#include "lockstep/comm/mpi_session.hpp"

#include <mpi.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

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

/// MPI_Finalize waits for all ranks and cannot be asked whether it is done: a thread watches it.
class FinalizeDeadline {
 public:
  FinalizeDeadline(double seconds, int rank) {
    watcher_ = std::thread([this, seconds, rank] {
      std::unique_lock lock(mutex_);
      if (wake_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return done_; })) {
        return;
      }
      std::fprintf(
          stderr,
          "lockstep: error: rank %d: MPI_Finalize did not finish within %g s (another rank "
          "stopped or hangs) - look at the messages of the other ranks, or raise "
          "comm.timeout\n",
          rank, seconds);
      std::fflush(nullptr);
      std::_Exit(1);
    });
  }
  FinalizeDeadline(const FinalizeDeadline&) = delete;
  FinalizeDeadline& operator=(const FinalizeDeadline&) = delete;
  ~FinalizeDeadline() {
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
  check_mpi(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread");
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
  const FinalizeDeadline deadline(timeout_s_, world_.rank);
  if (MPI_Finalize() != MPI_SUCCESS) std::fputs("MPI_Finalize failed\n", stderr);
}

void MpiSession::abort(int exit_code) {
  std::fflush(nullptr);
  if (mpi_is_up()) MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::_Exit(exit_code);
}

}  // namespace lockstep::comm
