#include "lockstep/train/trainer.hpp"

#include <ATen/ops/cross_entropy_loss.h>
#include <torch/types.h>

#include <cmath>
#include <limits>
#include <string>

#include "lockstep/base/check.hpp"
#include "lockstep/data/batch_tensor.hpp"

namespace lockstep::train {
void require_finite(double value, const std::string& what) {
  if (!std::isfinite(value)) {
    throw comm::AgreedError(
        what +
            " is not finite (training has diverged) - lower optim.lr, add a warm-up "
            "(schedule.warmup_epochs) or clip gradients (train.clip_norm); the checkpoints "
            "saved before are intact",
        ExitCode::kFailed, 0);
  }
}

Trainer::Trainer(model::Network& network, optim::Optimizer& optimizer,
                 comm::GradientReducer& reducer, comm::Collectives& control, c10::Device device,
                 const TrainerOptions& options)
    : network_(network),
      optimizer_(optimizer),
      reducer_(reducer),
      control_(control),
      device_(device),
      options_(options) {}

StepResult Trainer::compute_gradients(data::Loader& loader, const StepInput& input) {
  StepResult result;
  reducer_.zero();
  at::Tensor loss_sum = at::zeros({}, at::TensorOptions().dtype(at::kDouble).device(device_));
  at::Tensor correct = at::zeros({}, at::TensorOptions().dtype(at::kLong).device(device_));
  std::int64_t own_samples = 0;
  std::int64_t update_samples = 0;
  for (bool last = false; !last;) {
    data::Batch batch;
    require(loader.next(batch), "the loader ended inside an update", "its plan is too short",
            "report this as a defect");
    last = batch.plan.last_of_update;
    update_samples = batch.plan.update_samples;
    own_samples += batch.size();
    const at::Tensor images = data::images_tensor(batch).to(device_);
    const at::Tensor labels = data::labels_tensor(batch).to(device_);
    const model::StepContext context{model::Phase::kTrain, options_.seed, input.update,
                                     batch.ids.data()};
    const at::Tensor logits = network_.forward(images, context);
    at::Tensor loss = at::cross_entropy_loss(logits, labels, {}, at::Reduction::Sum, -100,
                                             options_.label_smoothing);
    if (input.spoil) {
      loss = loss * std::numeric_limits<double>::quiet_NaN();
    }
    {
      const torch::NoGradGuard no_grad;
      loss_sum += loss;
      correct += logits.argmax(1).eq(labels).sum();
    }
    if (last) {
      reducer_.arm();
    }
    // Divided by the samples of the whole update, so that summing over ranks and micro-batches
    // gives the exact mean however unequal the parts are.
    (loss / static_cast<double>(update_samples)).backward();
    batch.storage.reset();
    result.batches.push_back(std::move(batch));
  }
  reducer_.finish();

  std::vector<double> totals{loss_sum.item<double>(),
                             static_cast<double>(correct.item<std::int64_t>()),
                             static_cast<double>(own_samples), input.stop_wanted ? 1.0 : 0.0};
  control_.sum(totals);
  result.loss_sum = totals[0];
  result.correct = std::llround(totals[1]);
  result.samples = std::llround(totals[2]);
  result.stop_wanted = totals[3] > 0;
  require(result.samples == update_samples, "an update lost samples",
          std::to_string(result.samples) + " arrived of " + std::to_string(update_samples),
          "report this as a defect");
  result.grad_norm = control_.broadcast(reducer_.norm());
  const std::string of_update = " of update " + std::to_string(input.update + 1);
  require_finite(result.loss_sum, "the loss" + of_update);
  require_finite(result.grad_norm, "the gradient norm" + of_update);
  return result;
}

void Trainer::apply(const StepResult& result, double learning_rate) {
  if (options_.clip_norm > 0 && result.grad_norm > options_.clip_norm) {
    reducer_.scale(options_.clip_norm / result.grad_norm);
  }
  optimizer_.step(learning_rate);
}

}  // namespace lockstep::train
