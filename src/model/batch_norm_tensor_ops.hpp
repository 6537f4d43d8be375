#pragma once

#include <torch/types.h>

namespace lockstep::model {

// Batch normalisation in plain tensor operations, for devices without own kernels. Constants per
// channel come in float64 and are applied in the batch's number format (float32 below that).

/// moments [2, C]: sums of x - shift and of its square.
void channel_moments_by_tensor_ops(const at::Tensor& x, const at::Tensor& shift,
                                   at::Tensor& moments);

void normalise_by_tensor_ops(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                             const at::Tensor& mean, const at::Tensor& inverse_std, at::Tensor& y);

/// sums [2, C]: sums of dy and of dy * (x - mean).
void gradient_moments_by_tensor_ops(const at::Tensor& dy, const at::Tensor& x,
                                    const at::Tensor& mean, at::Tensor& sums);

/// sums [2, C]: over all ranks, of dy and of dy * xhat; count: values per channel.
void input_gradient_by_tensor_ops(const at::Tensor& dy, const at::Tensor& x,
                                  const at::Tensor& weight, const at::Tensor& mean,
                                  const at::Tensor& inverse_std, const at::Tensor& sums,
                                  double count, at::Tensor& dx);

}  // namespace lockstep::model
