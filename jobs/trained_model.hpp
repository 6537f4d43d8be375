#pragma once

#include <optional>

#include "job.hpp"
#include "lockstep/train/checkpoint.hpp"

namespace lockstep::jobs {

/// A checkpoint and the configuration under which a verb uses it.
struct TrainedModel {
  train::LoadedCheckpoint checkpoint;
  RunConfig config;
};

/// How a verb that works on a trained model begins: loads --checkpoint on every rank, lays what the
/// verb inherits from it under the command line, and makes sure that all ranks have the same
/// configuration. Nothing when --print-config was asked for and has been answered. Collective;
/// failures are agreed.
[[nodiscard]] std::optional<TrainedModel> load_trained_model(JobContext& context);

}  // namespace lockstep::jobs
