#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/comm/gradient_reducer.hpp"
#include "lockstep/model/network.hpp"
#include "lockstep/train/trainer.hpp"

namespace lockstep::train {

/// Writes what an independent program needs to replay the first updates of a run (docs/testing.md):
/// for studies and tests. With an empty folder every call does nothing, on all ranks alike.
class Recorder {
 public:
  /// Collective calls go over `control`; files are written by rank 0. Throws Error.
  Recorder(std::string folder, std::int64_t updates, comm::Collectives& control);

  [[nodiscard]] bool active() const noexcept { return !folder_.empty(); }
  void initial(const model::Network& network, const std::string& meta_json);
  /// After the gradients of an update are complete, before it is applied. Collective.
  void update(const model::Network& network, const StepResult& result, std::int64_t update,
              std::int64_t epoch, double learning_rate);
  /// After an update was applied.
  void applied(const model::Network& network, std::int64_t update);
  /// At the end of the run, when it had fewer updates than wanted.
  void finish(const model::Network& network, std::int64_t updates_done);

 private:
  void save(const model::Network& network, const std::string& name, bool gradients) const;

  std::string folder_;
  std::int64_t updates_;
  comm::Collectives& control_;
};

}  // namespace lockstep::train
