#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/comm/gradient_reducer.hpp"
#include "lockstep/data/loader.hpp"
#include "lockstep/model/network.hpp"
#include "lockstep/optim/optimizer.hpp"

namespace lockstep::train {

struct TrainerOptions {
  std::uint64_t seed = 0;
  double label_smoothing = 0;
  double clip_norm = 0;  ///< 0: off
};

/// What an update begins with, on this rank.
struct StepInput {
  std::int64_t update = 0;
  bool stop_wanted = false;  ///< this rank was asked to stop
  bool spoil = false;        ///< makes this rank's loss NaN (fault injection)
};

/// One update, over all ranks.
struct StepResult {
  std::int64_t samples = 0;          ///< of the update
  double loss_sum = 0;               ///< over the samples, with label smoothing
  std::int64_t correct = 0;          ///< top-1, in training mode
  double grad_norm = 0;              ///< before clipping
  bool stop_wanted = false;          ///< any rank was asked to stop
  std::vector<data::Batch> batches;  ///< this rank's micro-batches, pictures released
};

/// Throws AgreedError "<what> is not finite (training has diverged) - ..." unless `value` is
/// finite. Every rank calls it with the same value.
void require_finite(double value, const std::string& what);

/// The update: gradients of all its micro-batches, summed over ranks, then the optimizer.
class Trainer {
 public:
  /// All must outlive the trainer.
  Trainer(model::Network& network, optim::Optimizer& optimizer, comm::GradientReducer& reducer,
          comm::Collectives& control, c10::Device device, const TrainerOptions& options);

  /// Takes the micro-batches of the next update from the loader; afterwards .grad() holds the mean
  /// gradient of the update on every rank. A loss or gradient that is not finite throws AgreedError
  /// on all ranks.
  [[nodiscard]] StepResult compute_gradients(data::Loader& loader, const StepInput& input);
  /// Clips by the norm and lets the optimizer update the weights.
  void apply(const StepResult& result, double learning_rate);

 private:
  model::Network& network_;
  optim::Optimizer& optimizer_;
  comm::GradientReducer& reducer_;
  comm::Collectives& control_;
  c10::Device device_;
  TrainerOptions options_;
};

}  // namespace lockstep::train
