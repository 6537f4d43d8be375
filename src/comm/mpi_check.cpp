#include "mpi_check.hpp"

#include <array>
#include <string>

#include "lockstep/base/check.hpp"

namespace lockstep::comm {

void check_mpi(int code, std::string_view what) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  std::string why = "MPI error " + std::to_string(code);
  if (MPI_Error_string(code, text.data(), &length) == MPI_SUCCESS) {
    why.assign(text.data(), static_cast<std::size_t>(length));
  }
  throw Error(std::string(what) + " failed", why,
              "look for an earlier error of another rank or of the MPI launcher");
}

}  // namespace lockstep::comm
