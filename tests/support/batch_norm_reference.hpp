#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace lockstep::test {

/// A batch with its own mean and deviation in each channel, the same on every rank: values of a
/// fixed generator, in logical order whatever the layout.
inline at::Tensor make_batch(const std::vector<std::int64_t>& shape, at::ScalarType type,
                             bool channels_last, std::uint64_t seed) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  at::Tensor x = at::randn(shape, generator, at::dtype(at::kDouble));
  std::vector<std::int64_t> per_channel(shape.size(), 1);
  per_channel[1] = shape[1];
  const at::Tensor channel = at::arange(shape[1], at::kDouble).view(per_channel);
  x = (x * (1 + 0.25 * channel) + (0.5 * channel - 1)).to(type);
  return channels_last && x.dim() == 4 ? x.contiguous(at::MemoryFormat::ChannelsLast) : x;
}

/// What PyTorch's batch normalisation gives for a whole batch, computed in float64.
struct BatchNormReference {
  at::Tensor y, dx, dweight, dbias, running_mean, running_var;
};

inline BatchNormReference batch_norm_reference(const at::Tensor& x, const at::Tensor& dy,
                                               const at::Tensor& weight, const at::Tensor& bias,
                                               double momentum, double eps = 1e-5) {
  const auto leaf = [](const at::Tensor& t) {
    return t.detach().to(at::kDouble).clone().requires_grad_(true);
  };
  const at::Tensor input = leaf(x), gain = leaf(weight), shift = leaf(bias);
  BatchNormReference r;
  r.running_mean = at::zeros({x.size(1)}, at::kDouble);
  r.running_var = at::ones({x.size(1)}, at::kDouble);
  r.y =
      at::batch_norm(input, gain, shift, r.running_mean, r.running_var, true, momentum, eps, false);
  r.y.backward(dy.to(at::kDouble));
  r.dx = input.grad();
  r.dweight = gain.grad();
  r.dbias = shift.grad();
  r.y = r.y.detach();
  return r;
}

/// Largest difference relative to the largest magnitude (or to 1).
inline double relative_difference(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) return 1e300;
  if (a.numel() == 0) return 0;
  const at::Tensor wide_a = a.detach().to(at::kDouble);
  const at::Tensor wide_b = b.detach().to(at::kDouble);
  const double scale = std::max(1.0, wide_b.abs().max().item<double>());
  return (wide_a - wide_b).abs().max().item<double>() / scale;
}

}  // namespace lockstep::test
