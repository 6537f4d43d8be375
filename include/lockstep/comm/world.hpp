#pragma once

#include <string>

namespace lockstep::comm {

/// Who this process is among the ranks of the job. A plain value; the default is the serial world.
struct World {
  int rank = 0;
  int size = 1;
  int local_rank = 0;  ///< rank among the processes of this host
  int local_size = 1;  ///< processes of the job on this host
  std::string host = "localhost";

  [[nodiscard]] bool is_root() const noexcept { return rank == 0; }
};

}  // namespace lockstep::comm
