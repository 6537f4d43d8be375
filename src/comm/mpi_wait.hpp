#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace lockstep::comm {

/// Names an operation in the errors of its wait.
struct MpiOperation {
  std::string text;  ///< "all-reduce of 12 float32 elements"
  std::string communicator;
  int rank = 0;
  double timeout_s = 0;
};

/// Moves the requests on; true when all are done. Throws Error with MPI's text on failure.
bool test_all(std::vector<MPI_Request>& requests, const MpiOperation& operation);

/// Polls until all are done; throws Error naming the operation when its time is over. The buffers
/// of an operation that was given up still belong to MPI.
void wait_all(std::vector<MPI_Request>& requests, const MpiOperation& operation);

}  // namespace lockstep::comm
