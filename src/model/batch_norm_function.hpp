#pragma once

#include <torch/types.h>

#include <cstdint>

#include "lockstep/comm/collectives.hpp"

namespace lockstep::model {

/// Moments of a batch over all ranks, per channel, float64 on the batch's device.
struct BatchStatistics {
  at::Tensor mean;
  at::Tensor variance;  ///< biased: over N
  double count = 0;     ///< N, values per channel in the whole batch
};

/// One all-reduce of (count, sums, sums of squares). `shift` [C]: subtracted before summing, near
/// the mean for the best accuracy, the same on all ranks. N = 0 gives mean = shift, variance = 0.
[[nodiscard]] BatchStatistics batch_statistics(const at::Tensor& x, const at::Tensor& shift,
                                               comm::Collectives& collectives);

/// (x - mean) / sqrt(variance + eps) * weight + bias with the gradient of batch normalisation,
/// whose statistics depend on x on all ranks. Its backward pass does one all-reduce, left out on
/// all ranks when x needs no gradient.
[[nodiscard]] at::Tensor synchronised_batch_norm(const at::Tensor& x, const at::Tensor& weight,
                                                 const at::Tensor& bias,
                                                 const BatchStatistics& statistics, double eps,
                                                 comm::Collectives& collectives);

}  // namespace lockstep::model
