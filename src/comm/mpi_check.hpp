#pragma once

#include <mpi.h>

#include <string_view>

namespace lockstep::comm {

/// Throws Error with MPI's own text unless `code` is MPI_SUCCESS. `what` names the operation.
void check_mpi(int code, std::string_view what);

}  // namespace lockstep::comm
