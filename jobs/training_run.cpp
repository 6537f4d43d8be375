#include "training_run.hpp"

#include <ATen/Context.h>
#include <torch/types.h>

#include <algorithm>
#include <sstream>

#include "lockstep/base/check.hpp"
#include "lockstep/train/initial_weights.hpp"

namespace lockstep::jobs {
namespace {

std::string shapes_text(const model::Network& network) {
  std::ostringstream text;
  for (const auto& [name, tensor] : train::state_of(network)) {
    text << name << tensor.sizes() << tensor.scalar_type() << '\n';
  }
  return text.str();
}

/// A network that cannot train on a single sample (BatchNorm over one value per channel) would
/// otherwise say so at the end of the first epoch.
void require_one_sample_fits(const RunConfig& config, const InputShape& input) {
  const auto alone = comm::make_serial_collectives();
  const auto network = build_network(config, input, c10::Device(c10::kCPU), *alone);
  const at::Tensor image =
      at::zeros({1, 3, input.height, input.width}, network->parameters().front().scalar_type());
  const std::int64_t id = 0;
  const torch::NoGradGuard no_grad;
  try {
    network->forward(image, {model::Phase::kTrain, config.run.seed, 0, &id});
  } catch (const Error& error) {
    const std::string why = error.what();
    throw UsageError("a micro-batch of one sample cannot be trained on",
                     why.substr(0, why.find(" - ")),
                     "the last update of an epoch has the samples that are left over: set "
                     "data.drop_last=true, another train.batch_size, or less accumulation");
  }
}

/// A few samples from all over a set.
std::vector<std::int64_t> probe_ids(std::int64_t samples) {
  constexpr std::int64_t kProbes = 64;
  const std::int64_t count = std::min(samples, kProbes);
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < count; ++i) {
    ids.push_back(i * samples / count);
  }
  return ids;
}

}  // namespace

std::vector<optim::NamedParameter> trainable(const model::Network& network) {
  std::vector<optim::NamedParameter> parameters;
  for (const auto& item : network.named_parameters()) {
    if (item.value().requires_grad()) {
      parameters.emplace_back(item.key(), item.value());
    }
  }
  return parameters;
}

TrainingPlan make_plan(JobContext& context, const TrainingData& sets, const Workplace& place) {
  const RunConfig& config = context.command_line.config;
  const InputShape input = shape_of(*sets.train);
  TrainingPlan plan;
  comm::agreed_phase(context.control, [&] {
    plan.network = build_network(config, input, place.device(), place.collectives.batch_norm());
    plan.optimizer = optim::make_optimizer(optimizer_options(config), trainable(*plan.network));
    plan.sampler = make_sampler(config, static_cast<std::int64_t>(sets.split.train.size()));
    plan.schedule = schedule_options(config, plan.sampler->updates_per_epoch());
    optim::validate(plan.schedule);
    if (smallest_micro_batch(*plan.sampler, plan.schedule.total_updates) == 1) {
      require_one_sample_fits(config, input);
    }
  });
  return plan;
}

void require_same_network(comm::Collectives& control, const model::Network& network) {
  comm::require_same(control, shapes_text(network), "the shapes of the model");
  comm::require_same(control, train::state_digest(network), "the model's initial weights");
}

std::string begin_with_weights(JobContext& context, model::Network& network, std::int64_t classes) {
  const RunConfig::Model& model = context.command_line.config.model;
  const train::WeightsFile weights = train::read_weights_everywhere(context.control, model.weights);
  train::WeightsMatch match;
  comm::agreed_phase(context.control, [&] {
    match = train::load_weights(network, weights.tensors, classes, model.weights_strict);
  });
  const std::string note = weights.note.empty() ? "" : " (" + weights.note + ")";
  return "weights of '" + model.weights + "'" + note + ": " + train::match_text(match);
}

Machinery::Machinery(JobContext& context, const TrainingData& sets, TrainingPlan& plan,
                     const Workplace& place, const data::LoaderOptions& loading)
    : reducer(trainable(*plan.network), *place.collectives.gradients,
              bucket_options(context.command_line.config)),
      loader(*sets.train, sets.split.train, *plan.sampler, loading),
      probe(*sets.train, probe_ids(sets.train->size()),
            context.command_line.config.train.eval_batch_size, loading, context.control,
            place.device()),
      trainer(*plan.network, *plan.optimizer, reducer, context.control, place.device(),
              trainer_options(context.command_line.config)) {
  if (!sets.split.val.empty()) {
    val.emplace(sets.val_set(), sets.split.val, context.command_line.config.train.eval_batch_size,
                loading, context.control, place.device());
  }
}

train::TrainingState fresh_state(const TrainingData& sets, const data::LoaderOptions& loading,
                                 int ranks, int threads) {
  const InputShape input = shape_of(*sets.train);
  train::TrainingState state;
  state.classes = input.classes;
  state.height = input.height;
  state.width = input.width;
  state.mean = loading.augmentation.mean;
  state.std = loading.augmentation.std;
  state.packed = sets.train->info().packed;
  state.train_set_id = sets.train->info().set_id;
  state.val_set_id = sets.own_val ? sets.own_val->info().set_id : std::string();
  state.train_samples = static_cast<std::int64_t>(sets.split.train.size());
  state.ranks = ranks;
  state.threads = threads;
  state.cpu_capability = at::get_cpu_capability();
  return state;
}

}  // namespace lockstep::jobs
