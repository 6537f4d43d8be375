#include "lockstep/model/layers.hpp"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <array>
#include <sstream>

#include "batch_norm_function.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/seed.hpp"

namespace lockstep::model {
namespace {

template <typename T>
void fill_mask(at::Tensor& mask, std::uint64_t key, const std::int64_t* sample_ids, double p) {
  const std::int64_t samples = mask.size(0);
  const std::int64_t elements = samples == 0 ? 0 : mask.numel() / samples;
  const T kept = static_cast<T>(1.0 / (1.0 - p));
  T* data = mask.mutable_data_ptr<T>();
  at::parallel_for(0, samples, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s) {
      const auto id = static_cast<std::uint64_t>(sample_ids[s]);
      std::array<std::uint32_t, 4> words{};
      for (std::int64_t e = 0; e < elements; ++e) {
        if (e % 4 == 0) words = random_words(key, id, static_cast<std::uint64_t>(e / 4));
        const double u = unit_interval(words[static_cast<std::size_t>(e % 4)]);
        data[s * elements + e] = u < p ? T{0} : kept;
      }
    }
  });
}

std::string shape_of(const at::Tensor& x) {
  std::ostringstream text;
  text << x.sizes();
  return text.str();
}

}  // namespace

SyncBatchNorm::SyncBatchNorm(std::int64_t channels, double momentum, comm::Collectives& collectives,
                             double eps)
    : torch::nn::Module("SyncBatchNorm"),
      collectives_(&collectives),
      momentum_(momentum),
      eps_(eps) {
  weight = register_parameter("weight", at::ones({channels}));
  bias = register_parameter("bias", at::zeros({channels}));
  running_mean = register_buffer("running_mean", at::zeros({channels}));
  running_var = register_buffer("running_var", at::ones({channels}));
  num_batches_tracked = register_buffer("num_batches_tracked", at::zeros({}, at::kLong));
}

void SyncBatchNorm::to(torch::Dtype dtype, bool non_blocking) {
  Module::to(dtype, non_blocking);
  num_batches_tracked.set_data(num_batches_tracked.to(at::kLong));
}

void SyncBatchNorm::to(torch::Device device, torch::Dtype dtype, bool non_blocking) {
  Module::to(device, dtype, non_blocking);
  num_batches_tracked.set_data(num_batches_tracked.to(at::kLong));
}

bool SyncBatchNorm::is_frozen() const { return !weight.requires_grad() && !bias.requires_grad(); }

at::Tensor SyncBatchNorm::forward(const at::Tensor& x, const StepContext& context) {
  require((x.dim() == 2 || x.dim() == 4) && x.size(1) == weight.size(0),
          "SyncBatchNorm cannot take a batch of shape " + shape_of(x),
          "it wants [n, C] or [n, C, H, W] with C = " + std::to_string(weight.size(0)),
          "check the layer before it");
  if (!context.training() || is_frozen()) {
    return at::batch_norm(x, weight, bias, running_mean, running_var, /*training=*/false, momentum_,
                          eps_, /*cudnn_enabled=*/true);
  }
  const BatchStatistics statistics = batch_statistics(x, running_mean, *collectives_);
  if (statistics.count == 1) {
    // The count is a sum over the ranks: all of them come here, and one speaks for all.
    throw comm::AgreedError("SyncBatchNorm over " + std::to_string(weight.size(0)) +
                                " channels got one value per channel in the whole batch (its "
                                "variance is not defined) - use a larger batch, or "
                                "data.drop_last=true",
                            ExitCode::kFailed, 0);
  }
  if (context.phase == Phase::kTrain && statistics.count > 1) {
    const at::NoGradGuard no_grad;
    const auto blend = [this](const at::Tensor& running, const at::Tensor& batch) {
      running.copy_(running.to(at::kDouble) * (1.0 - momentum_) + batch * momentum_);
    };
    blend(running_mean, statistics.mean);
    blend(running_var, statistics.variance * (statistics.count / (statistics.count - 1.0)));
    num_batches_tracked.add_(1);
  }
  return synchronised_batch_norm(x, weight, bias, statistics, eps_, *collectives_);
}

Dropout::Dropout(double probability, std::int64_t layer)
    : torch::nn::Module("Dropout"), probability_(probability), layer_(layer) {
  if (!(probability >= 0.0 && probability < 1.0)) {
    throw UsageError("dropout cannot be " + std::to_string(probability),
                     "it is the probability that a value is dropped", "choose one in [0, 1)");
  }
}

at::Tensor Dropout::forward(const at::Tensor& x, const StepContext& context) {
  if (probability_ == 0.0 || !context.training()) return x;
  require(context.sample_ids != nullptr || x.size(0) == 0, "dropout got no sample ids",
          "its masks are functions of them", "set StepContext::sample_ids");
  const std::uint64_t key =
      derive_key(context.seed, Stream::kDropout, static_cast<std::uint64_t>(context.update),
                 static_cast<std::uint64_t>(layer_));
  const bool wide = x.scalar_type() == at::kDouble;
  at::Tensor mask = at::empty(x.sizes(), wide ? at::kDouble : at::kFloat);
  if (wide) {
    fill_mask<double>(mask, key, context.sample_ids, probability_);
  } else {
    fill_mask<float>(mask, key, context.sample_ids, probability_);
  }
  // Filled in logical order; the product is fastest when both lie in memory alike.
  if (x.dim() == 4) mask = mask.contiguous(x.suggest_memory_format());
  return x * mask.to(x.options());
}

}  // namespace lockstep::model
