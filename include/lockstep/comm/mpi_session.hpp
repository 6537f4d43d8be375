#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/comm/world.hpp"

namespace lockstep::comm {

struct MpiOptions {
  std::string name = "collectives";  ///< of the communicator; the same on all ranks, in its errors
  double timeout_s = 600;            ///< the longest a rank waits inside one collective
  std::size_t max_count = std::size_t{1}
                          << 30U;  ///< elements per MPI call; longer ones are chunked
};

/// MPI_Init_thread .. MPI_Finalize as an object; one per process, made in main. Works without
/// mpirun (a world of one). Throws UsageError when the launcher's variables promise more tasks than
/// MPI sees (srun without PMIx).
class MpiSession {
 public:
  MpiSession(int& argc, char**& argv);
  /// Finalizes in order, or, when an exception is under way, leaves that to abort().
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  [[nodiscard]] const World& world() const noexcept { return world_; }

  /// A new communicator over all ranks (a duplicate of the world; collective). Gradients,
  /// SyncBatchNorm and control each take their own. Must be destroyed before the session.
  [[nodiscard]] std::unique_ptr<Collectives> make_collectives(const MpiOptions& options = {});

  /// The longest that the destructor waits for the other ranks in MPI_Finalize; then it says so and
  /// ends the process with exit code 1. Default: as MpiOptions.
  void set_timeout(double seconds) noexcept { timeout_s_ = seconds; }

  /// "Open MPI v4.1.4, ...", "MPICH Version: 4.0.2": the library this process runs with.
  [[nodiscard]] static std::string library_version();

  /// MPI_Abort on the world. Does not return.
  [[noreturn]] static void abort(int exit_code);

 private:
  World world_;
  double timeout_s_ = MpiOptions{}.timeout_s;
};

/// What the launcher's variables say about the number of tasks, pure, for tests: throws UsageError
/// when they promise N > 1 tasks in this step and `mpi_size` is 1. `getenv` returns nullptr when
/// unset.
void check_launcher(int mpi_size, const char* (*getenv)(const char*));

}  // namespace lockstep::comm
