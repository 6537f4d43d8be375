#pragma once

#include <csignal>

namespace lockstep::train {

/// While one lives, SIGUSR1, SIGTERM and SIGINT ask for a stop at the next update instead of ending
/// the process; a second SIGTERM or SIGINT ends it. (SIGUSR1 is what mpirun passes on and what
/// Slurm can send some time before the end of a job.) At most one lives at a time: handlers of
/// signals belong to the whole process.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// Whether a signal has come to this process.
  [[nodiscard]] bool requested() const noexcept;

 private:
  struct sigaction before_[3]{};
};

}  // namespace lockstep::train
