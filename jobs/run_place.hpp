#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "job.hpp"
#include "lockstep/model/network.hpp"
#include "lockstep/optim/optimizer.hpp"
#include "lockstep/report/run_folder.hpp"
#include "lockstep/train/checkpoint.hpp"
#include "lockstep/train/evaluator.hpp"
#include "lockstep/train/fit.hpp"

namespace lockstep::jobs {

/// Where a run lives, and the checkpoint it goes on from, if any.
struct RunPlace {
  std::unique_ptr<report::RunFolder> folder;            ///< rank 0
  std::unique_ptr<train::CheckpointStore> checkpoints;  ///< rank 0
  std::string path;                                     ///< of the folder, on all ranks
  std::optional<train::LoadedCheckpoint> from;          ///< on all ranks
  std::vector<std::string> warnings;                    ///< rank 0: for the log
};

/// Makes the folder of the run or, with run.resume=auto, takes over the one that is there with its
/// newest good checkpoint; with run.resume=PATH reads that checkpoint. Collective; failures are
/// agreed.
[[nodiscard]] RunPlace open_run_place(JobContext& context);

/// Refuses a checkpoint that another configuration or another training set was made with, and puts
/// the rest of what has changed into the log. `fresh` is the state of a run that begins, on this
/// machine and set. Throws UsageError. Not collective: the same on all ranks.
void require_fit(JobContext& context, const train::LoadedCheckpoint& from,
                 const train::TrainingState& fresh);

/// Logs the warnings of a place, each once.
void log_warnings(JobContext& context, RunPlace& place);

/// Refuses to go on from inside an epoch when options leave nothing to train: the epoch would have
/// no validation and no row. Throws UsageError.
void require_whole_epochs(const train::TrainingState& state, const train::FitOptions& options,
                          std::int64_t total_updates);

/// Refuses a run with nothing left to train that would be left without a best model. On rank 0.
/// Throws UsageError.
void require_more_or_best(const RunPlace& place, const train::TrainingState& state,
                          const train::FitOptions& options, std::int64_t total_updates);

/// Brings network and optimizer to where the checkpoint left them, and lets go of its tensors;
/// returns the state to go on from. Throws Error naming what does not fit.
[[nodiscard]] train::TrainingState restore(RunPlace& place, const train::TrainingState& fresh,
                                           model::Network& network, optim::Optimizer& optimizer);

/// Says what the run goes on from and compares the loss of the probe with the one saved. Changes
/// nothing. Collective; another loss is an AgreedError.
void check_probe(JobContext& context, const RunPlace& place, const train::TrainingState& state,
                 train::Evaluator& probe, model::Network& network);

/// Lets the folder's pointers be those of the checkpoint that the run goes on from. A best model
/// that was not carried along (run.resume=PATH, or lost) counts no more: `state` is changed.
/// Collective.
void take_over_best(JobContext& context, RunPlace& place, train::TrainingState& state);

}  // namespace lockstep::jobs
