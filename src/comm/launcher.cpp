#include "launcher.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "lockstep/base/check.hpp"
#include "lockstep/comm/mpi_session.hpp"

namespace lockstep::comm {
namespace {

struct Promise {
  std::string variable;
  long tasks = 0;
};

std::optional<long> number(const char* text) {
  if (text == nullptr) return std::nullopt;
  long value = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

/// The shell of sbatch or salloc is a step of its own with one process, whatever the job's size.
/// Slurm writes these steps as words or as the numbers of slurm.h.
bool is_shell_step(const char* step) {
  if (step == nullptr) return false;
  const std::string_view id = step;
  return id == "batch" || id == "interactive" || id == "4294967291" || id == "4294967290";
}

/// The launcher nearest to this process decides: mpirun inside a Slurm step leaves the variables of
/// that step in place.
std::optional<Promise> promise_of(const char* (*getenv)(const char*)) {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const auto tasks = number(getenv(variable))) return Promise{variable, *tasks};
  }
  if (getenv("SLURM_PROCID") == nullptr || is_shell_step(getenv("SLURM_STEP_ID"))) return {};
  if (const auto tasks = number(getenv("SLURM_STEP_NUM_TASKS"))) {
    return Promise{"SLURM_STEP_NUM_TASKS", *tasks};
  }
  return {};
}

}  // namespace

bool offers_rendezvous(const char* (*getenv)(const char*)) {
  constexpr std::array kVariables = {"PMIX_NAMESPACE", "PMIX_RANK", "PMI_FD", "PMI_RANK"};
  return std::any_of(kVariables.begin(), kVariables.end(),
                     [&](const char* variable) { return getenv(variable) != nullptr; });
}

void check_launcher(int mpi_size, const char* (*getenv)(const char*)) {
  if (mpi_size != 1) return;
  const auto promise = promise_of(getenv);
  if (!promise || promise->tasks <= 1) return;
  throw UsageError(
      "the launcher started " + std::to_string(promise->tasks) +
          " tasks, but MPI sees a single one in each of them",
      promise->variable + "=" + std::to_string(promise->tasks) +
          "; launcher and MPI library do not speak the same protocol, and every task would train "
          "alone",
      "under Slurm use srun --mpi=pmix (srun --mpi=list shows what there is), elsewhere the mpirun "
      "of the MPI library this program was built with");
}

}  // namespace lockstep::comm
