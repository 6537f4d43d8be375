#pragma once

#include <cstdint>
#include <string_view>

#include "lockstep/base/config.hpp"

namespace lockstep {

/// Injects the failure that the hidden section `fault` describes, for tests of failures.
/// Value type: holds the options and this process's rank.
class FaultPoint {
 public:
  FaultPoint(RunConfig::Fault options, int rank);

  /// Does nothing unless `point` is the configured point on the configured rank and, where the
  /// point counts (step, checkpoint), `count` equals the configured step. Else throws Error,
  /// sleeps, leaves with exit code 3 without clean-up, or kills the process (SIGKILL).
  void at(std::string_view point, std::int64_t count = 0) const;

  /// Whether the configured action is "nan" and due here (the trainer then spoils its loss).
  [[nodiscard]] bool spoils(std::int64_t count) const;

 private:
  RunConfig::Fault options_;
  int rank_;
};

}  // namespace lockstep
