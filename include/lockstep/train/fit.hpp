#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lockstep/base/fault.hpp"
#include "lockstep/comm/collectives.hpp"
#include "lockstep/comm/gradient_reducer.hpp"
#include "lockstep/data/loader.hpp"
#include "lockstep/data/sampler.hpp"
#include "lockstep/model/network.hpp"
#include "lockstep/optim/optimizer.hpp"
#include "lockstep/optim/schedule.hpp"
#include "lockstep/report/alarms.hpp"
#include "lockstep/report/metrics.hpp"
#include "lockstep/report/progress.hpp"
#include "lockstep/report/run_folder.hpp"
#include "lockstep/report/run_log.hpp"
#include "lockstep/train/checkpoint.hpp"
#include "lockstep/train/evaluator.hpp"
#include "lockstep/train/recorder.hpp"
#include "lockstep/train/stop_signal.hpp"
#include "lockstep/train/trainer.hpp"

namespace lockstep::train {

struct FitOptions {
  std::int64_t epochs = 0;
  bool best_by_loss = false;            ///< by validation loss instead of top-1
  std::int64_t early_stopping = 0;      ///< epochs without a better model; 0: off
  report::GradNormBounds grad_norm;     ///< outside of them there is a warning
  std::int64_t save_every_updates = 0;  ///< saves inside epochs too; 0: none
  std::int64_t stop_after_updates = 0;  ///< of this process; 0: no stop
  std::string config_text;              ///< goes into each checkpoint
};

/// The parts of a run, joined by jobs/train.cpp. Pointers that may be null are null on all ranks
/// (val) or on all but rank 0 (metrics, checkpoints).
struct FitParts {
  const FitOptions& options;
  comm::Collectives& control;
  report::RunLog& log;
  const FaultPoint& fault;
  const data::Sampler& sampler;
  data::Loader& loader;
  model::Network& network;
  optim::Optimizer& optimizer;
  comm::GradientReducer& reducer;
  Trainer& trainer;
  Evaluator* val;    ///< null: no validation
  Evaluator& probe;  ///< its loss is saved with each checkpoint
  Recorder& recorder;
  const StopSignal& stop;
  report::MetricsWriter* metrics;   ///< rank 0
  CheckpointStore* checkpoints;     ///< rank 0
  const report::RunFolder* folder;  ///< rank 0
  report::Progress progress;        ///< off on other ranks
  optim::ScheduleOptions schedule;
  TrainingState state;  ///< where training begins or goes on
};

/// How training ended.
struct FitResult {
  TrainingState state;
  bool stopped = false;  ///< saved and ended on request, before its end
};

/// Whether a run in this state has nothing left to train: all epochs or updates done, or stopped
/// early.
[[nodiscard]] bool is_finished(const TrainingState& state, const FitOptions& options,
                               std::int64_t total_updates);

/// Trains: epochs of updates, each epoch followed by validation, a metrics row and a checkpoint. A
/// model that is not finite any more is not saved: AgreedError, and the checkpoints before stay. A
/// stop that any rank was asked for is followed by all after the same update.
[[nodiscard]] FitResult fit(FitParts& parts);

}  // namespace lockstep::train
