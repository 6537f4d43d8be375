#pragma once

#include <c10/core/Device.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/base/config.hpp"
#include "lockstep/comm/collectives.hpp"
#include "lockstep/comm/gradient_reducer.hpp"
#include "lockstep/data/loader.hpp"
#include "lockstep/data/shard_reader.hpp"
#include "lockstep/model/models.hpp"
#include "lockstep/optim/optimizer.hpp"
#include "lockstep/optim/schedule.hpp"
#include "lockstep/report/metrics.hpp"
#include "lockstep/train/fit.hpp"
#include "lockstep/train/trainer.hpp"

/// How the values of a RunConfig become the options of the modules. Modules never see RunConfig.
namespace lockstep::jobs {

/// What a network needs to know of its pictures.
struct InputShape {
  std::vector<std::string> classes;
  std::int64_t height = 0;
  std::int64_t width = 0;
};

/// Builds the network on the CPU, freezes what the config says, and brings it to device, dtype and
/// memory format.
[[nodiscard]] std::shared_ptr<model::Network> build_network(const RunConfig& config,
                                                            const InputShape& input,
                                                            const c10::Device& device,
                                                            comm::Collectives& batch_norm);

[[nodiscard]] data::LoaderOptions loader_options(const RunConfig& config, const comm::World& world,
                                                 const std::array<double, 3>& mean,
                                                 const std::array<double, 3>& std);
[[nodiscard]] optim::OptimizerOptions optimizer_options(const RunConfig& config);
[[nodiscard]] optim::ScheduleOptions schedule_options(const RunConfig& config,
                                                      std::int64_t updates_per_epoch);

/// Updates of a run that goes on from `state`: those done, and those of the epochs that are left.
/// (A batch size that has changed gives them another number.)
[[nodiscard]] std::int64_t total_updates(const RunConfig& config, const train::TrainingState& state,
                                         std::int64_t updates_per_epoch);

[[nodiscard]] comm::BucketOptions bucket_options(const RunConfig& config);
[[nodiscard]] train::TrainerOptions trainer_options(const RunConfig& config);
[[nodiscard]] train::FitOptions fit_options(const RunConfig& config);

/// Opens a set on every rank and makes sure that all see the same one. `key` is the option that
/// named it. Collective; failures are agreed.
[[nodiscard]] std::unique_ptr<data::ShardSet> open_set(comm::Collectives& control,
                                                       const std::string& folder,
                                                       const std::string& key);

/// Throws UsageError unless `set` has the pictures and classes (names and order) of `expected`.
void require_like(const data::ShardSet& set, const InputShape& expected,
                  const std::string& expected_from);

/// "loss 0.5123  top-1 85.00 % (8500 of 10000)  top-5 ...".
[[nodiscard]] std::string scores_text(const report::Scores& scores);

/// 0, 1, ..., n-1.
[[nodiscard]] std::vector<std::int64_t> all_ids(std::int64_t n);

}  // namespace lockstep::jobs
