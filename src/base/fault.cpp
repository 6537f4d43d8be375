#include "lockstep/base/fault.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <utility>

#include "lockstep/base/check.hpp"

namespace lockstep {
namespace {

constexpr int kInjectedExitCode = 3;

bool counts(std::string_view point) { return point == "step" || point == "checkpoint"; }

}  // namespace

FaultPoint::FaultPoint(RunConfig::Fault options, int rank)
    : options_(std::move(options)), rank_(rank) {}

void FaultPoint::at(std::string_view point, std::int64_t count) const {
  if (options_.point.empty() || options_.point != point || options_.rank != rank_ ||
      (counts(point) && count != options_.step)) {
    return;
  }
  if (options_.action == "throw") {
    throw Error("injected failure at " + std::string(point) + " on rank " + std::to_string(rank_),
                "the section fault of the configuration asks for it",
                "leave out the fault.* options for a real run");
  }
  if (options_.action == "sleep") {
    std::this_thread::sleep_for(std::chrono::duration<double>(options_.seconds));
  } else if (options_.action == "exit") {
    ::_exit(kInjectedExitCode);
  } else if (options_.action == "kill") {
    std::raise(SIGKILL);
  }
}

bool FaultPoint::spoils(std::int64_t count) const {
  return options_.point == "step" && options_.action == "nan" && options_.rank == rank_ &&
         options_.step == count;
}

}  // namespace lockstep
