#include "mpi_wait.hpp"

#include <sched.h>

#include <chrono>

#include "lockstep/base/check.hpp"
#include "mpi_check.hpp"

namespace lockstep::comm {
namespace {

std::string label(const MpiOperation& operation) {
  return operation.text + " on communicator '" + operation.communicator + "'";
}

std::string seconds(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " s";
}

}  // namespace

bool test_all(std::vector<MPI_Request>& requests, const MpiOperation& operation) {
  int done = 0;
  std::vector<MPI_Status> statuses(requests.size());
  const int code =
      MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, statuses.data());
  if (code == MPI_ERR_IN_STATUS) {
    for (const MPI_Status& status : statuses) {
      if (status.MPI_ERROR != MPI_ERR_PENDING) check_mpi(status.MPI_ERROR, label(operation));
    }
  }
  check_mpi(code, label(operation));
  return done != 0;
}

void wait_all(std::vector<MPI_Request>& requests, const MpiOperation& operation) {
  using Clock = std::chrono::steady_clock;
  // Most waits are short. After these rounds the core may belong to the rank we wait for.
  constexpr int kSpins = 100;
  for (int i = 0; i < kSpins; ++i) {
    if (test_all(requests, operation)) return;
  }
  // As a number of seconds: a deadline in ticks of the clock would overflow for "never".
  const auto begin = Clock::now();
  const auto waited = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  while (!test_all(requests, operation)) {
    if (waited() > operation.timeout_s) {
      throw Error(label(operation) + " did not finish within " + seconds(operation.timeout_s) +
                      " on rank " + std::to_string(operation.rank),
                  "another rank stopped, hangs or is much slower",
                  "look at the messages of the other ranks, or raise comm.timeout");
    }
    sched_yield();
  }
}

}  // namespace lockstep::comm
