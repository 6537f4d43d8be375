#pragma once

#include <memory>
#include <optional>
#include <string>

#include "build.hpp"
#include "job.hpp"
#include "lockstep/comm/gradient_reducer.hpp"
#include "lockstep/data/loader.hpp"
#include "lockstep/data/sampler.hpp"
#include "lockstep/train/checkpoint.hpp"
#include "lockstep/train/evaluator.hpp"
#include "lockstep/train/trainer.hpp"
#include "training_data.hpp"
#include "workplace.hpp"

/// What a training run is made of, in the order in which it is made.
namespace lockstep::jobs {

/// What is trained, by which steps, and on which samples each.
struct TrainingPlan {
  std::shared_ptr<model::Network> network;
  std::unique_ptr<optim::Optimizer> optimizer;
  std::optional<data::Sampler> sampler;
  optim::ScheduleOptions schedule;
};

/// Throws UsageError for a plan that could not be carried out to its end. Collective; failures are
/// agreed.
[[nodiscard]] TrainingPlan make_plan(JobContext& context, const TrainingData& sets,
                                     const Workplace& place);

/// Makes sure that the network is the same on all ranks, weights and all. Collective.
void require_same_network(comm::Collectives& control, const model::Network& network);

/// Begins with the weights of model.weights; what was taken, for the log. Collective; failures are
/// agreed.
[[nodiscard]] std::string begin_with_weights(JobContext& context, model::Network& network,
                                             std::int64_t classes);

/// What carries out a plan. It refers to the plan, the sets and the workplace.
struct Machinery {
  Machinery(JobContext& context, const TrainingData& sets, TrainingPlan& plan,
            const Workplace& place, const data::LoaderOptions& loading);
  comm::GradientReducer reducer;
  data::Loader loader;
  std::optional<train::Evaluator> val;  ///< none: no validation samples
  train::Evaluator probe;               ///< a few training samples
  train::Trainer trainer;
};

/// What is known of a run before its first update.
[[nodiscard]] train::TrainingState fresh_state(const TrainingData& sets,
                                               const data::LoaderOptions& loading, int ranks,
                                               int threads);

/// Parameters that are trained, by name.
[[nodiscard]] std::vector<optim::NamedParameter> trainable(const model::Network& network);

}  // namespace lockstep::jobs
