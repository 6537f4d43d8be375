#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/model/network.hpp"

namespace lockstep::model {

/// Batch normalisation over all ranks (Ioffe, Szegedy 2015): the batch is the micro-batch across
/// ranks, weighted by counts, so its result does not depend on the number of ranks. Names as
/// BatchNorm2d (weight, bias, running_mean, running_var, num_batches_tracked). One all-reduce
/// forward, one backward, float64 sums on the CPU.
/// Training on one value per channel in the whole batch throws Error. The gradients of weight and
/// bias are this rank's sums; the gradient reducer adds the ranks. Running statistics take the
/// unbiased variance; Phase::kRecompute leaves them alone. With weight and bias both frozen it
/// normalises by its running statistics and leaves them alone, also in training.
class SyncBatchNorm : public torch::nn::Module {
 public:
  SyncBatchNorm(std::int64_t channels, double momentum, comm::Collectives& collectives,
                double eps = 1e-5);
  /// x: [n, C] or [n, C, H, W], contiguous or channels_last, n may be 0.
  at::Tensor forward(const at::Tensor& x, const StepContext& context);

  // The counter stays int64 when the network changes its dtype, as in PyTorch's Python modules.
  using torch::nn::Module::to;
  void to(torch::Device device, torch::Dtype dtype, bool non_blocking) override;
  void to(torch::Dtype dtype, bool non_blocking) override;

  at::Tensor weight, bias, running_mean, running_var, num_batches_tracked;

 private:
  [[nodiscard]] bool is_frozen() const;

  comm::Collectives* collectives_;
  double momentum_;
  double eps_;
};

/// Dropout whose mask is a pure function of (seed, update, layer, sample id, element).
/// key = derive_key(seed, kDropout, update, layer); element e of a sample (row-major over the
/// logical [C, H, W], [T, F] or [F] order) is word e%4 of random_words(key, sample id, e/4); it is
/// dropped when unit_interval(word) < p, else scaled by 1/(1-p).
class Dropout : public torch::nn::Module {
 public:
  Dropout(double probability, std::int64_t layer);
  at::Tensor forward(const at::Tensor& x, const StepContext& context);

 private:
  double probability_;
  std::int64_t layer_;
};

}  // namespace lockstep::model
