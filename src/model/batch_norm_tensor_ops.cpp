#include "batch_norm_tensor_ops.hpp"

#include <cstdint>
#include <vector>

namespace lockstep::model {
namespace {

at::ScalarType compute_type(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

std::vector<std::int64_t> all_but_channels(const at::Tensor& x) {
  return x.dim() == 4 ? std::vector<std::int64_t>{0, 2, 3} : std::vector<std::int64_t>{0};
}

// [C] as a tensor that broadcasts over x.
at::Tensor per_channel(const at::Tensor& values, const at::Tensor& x) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
  shape[1] = x.size(1);
  return values.to(compute_type(x)).view(shape);
}

// x - mean for a float64 mean: the part of the mean that float32 cannot hold is subtracted second.
at::Tensor centred(const at::Tensor& x, const at::Tensor& mean) {
  const at::Tensor rounded = mean.to(compute_type(x));
  const at::Tensor rest = mean - rounded.to(at::kDouble);
  return (x.to(compute_type(x)) - per_channel(rounded, x)).sub_(per_channel(rest, x));
}

}  // namespace

void channel_moments_by_tensor_ops(const at::Tensor& x, const at::Tensor& shift,
                                   at::Tensor& moments) {
  if (x.numel() == 0) {
    moments.zero_();
    return;
  }
  // Squares around this batch's own mean, then moved to `shift` in float64: squares around a shift
  // far from the mean lose the variance in float32.
  const std::int64_t values = x.numel() / x.size(1);
  const auto count = static_cast<double>(values);
  const at::Tensor distance =
      centred(x, shift).sum(all_but_channels(x)).to(at::kDouble).div_(count);
  const at::Tensor squares =
      centred(x, shift + distance).square().sum(all_but_channels(x)).to(at::kDouble);
  moments[0].copy_(distance * count);
  moments[1].copy_(squares + distance.square() * count);
}

void normalise_by_tensor_ops(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                             const at::Tensor& mean, const at::Tensor& inverse_std, at::Tensor& y) {
  const at::Tensor scale = weight.to(at::kDouble) * inverse_std;
  y.copy_(centred(x, mean).mul_(per_channel(scale, x)).add_(per_channel(bias, x)));
}

void gradient_moments_by_tensor_ops(const at::Tensor& dy, const at::Tensor& x,
                                    const at::Tensor& mean, at::Tensor& sums) {
  const at::Tensor g = dy.to(compute_type(x));
  sums[0].copy_(g.sum(all_but_channels(x)));
  sums[1].copy_((g * centred(x, mean)).sum(all_but_channels(x)));
}

void input_gradient_by_tensor_ops(const at::Tensor& dy, const at::Tensor& x,
                                  const at::Tensor& weight, const at::Tensor& mean,
                                  const at::Tensor& inverse_std, const at::Tensor& sums,
                                  double count, at::Tensor& dx) {
  const at::Tensor scale = weight.to(at::kDouble) * inverse_std;
  const at::Tensor slope = -scale * inverse_std * sums[1] / count;
  const at::Tensor offset = -scale * sums[0] / count;
  dx.copy_(dy.to(compute_type(x))
               .mul(per_channel(scale, x))
               .add_(centred(x, mean).mul_(per_channel(slope, x)))
               .add_(per_channel(offset, x)));
}

}  // namespace lockstep::model
