#include "batch_norm_function.hpp"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "batch_norm_kernels.hpp"
#include "batch_norm_tensor_ops.hpp"
#include "lockstep/base/check.hpp"

namespace lockstep::model {
namespace {

using torch::autograd::AutogradContext;

at::MemoryFormat format_of(const at::Tensor& x) {
  return x.dim() == 4 ? x.suggest_memory_format() : at::MemoryFormat::Contiguous;
}

BatchLayout layout_of(const at::Tensor& x) {
  const std::int64_t pixels = x.dim() == 4 ? x.size(2) * x.size(3) : 1;
  if (format_of(x) == at::MemoryFormat::ChannelsLast || pixels == 1) {
    return {x.size(0) * pixels, x.size(1), 1};
  }
  return {x.size(0), x.size(1), pixels};
}

template <typename Kernel>
void dispatch(const at::Tensor& x, Kernel kernel) {
  if (x.scalar_type() == at::kFloat) {
    kernel(float{});
  } else if (x.scalar_type() == at::kDouble) {
    kernel(double{});
  } else {
    throw Error("SyncBatchNorm does not run in this number format on the CPU",
                c10::toString(x.scalar_type()), "use float32 or float64");
  }
}

// What the loops over the batch need for each channel. centre is the mean rounded to T; what it
// lost goes into the offsets, in float64.
template <typename T>
struct ChannelConstants {
  explicit ChannelConstants(std::int64_t channels)
      : centre(static_cast<std::size_t>(channels)),
        scale(centre.size()),
        slope(centre.size()),
        offset(centre.size()) {}
  std::vector<T> centre, scale, slope, offset;
};

std::vector<double> to_doubles(const at::Tensor& tensor) {
  const at::Tensor values = tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  const double* data = values.const_data_ptr<double>();
  return {data, data + values.numel()};
}

template <typename T>
void forward_on_cpu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                    const at::Tensor& mean, const at::Tensor& inverse_std, at::Tensor& y) {
  const BatchLayout layout = layout_of(x);
  const auto gain = to_doubles(weight), shift = to_doubles(bias);
  const auto mu = to_doubles(mean), inverse = to_doubles(inverse_std);
  ChannelConstants<T> k(layout.channels);
  for (std::size_t c = 0; c < mu.size(); ++c) {
    const double scale = gain[c] * inverse[c];
    k.centre[c] = static_cast<T>(mu[c]);
    k.scale[c] = static_cast<T>(scale);
    k.offset[c] = static_cast<T>(shift[c] - (mu[c] - static_cast<double>(k.centre[c])) * scale);
  }
  normalise<T>(x.const_data_ptr<T>(), layout, k.centre.data(), k.scale.data(), k.offset.data(),
               y.mutable_data_ptr<T>());
}

// sums: over all ranks, of dy and of dy * xhat.
template <typename T>
void backward_on_cpu(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                     const at::Tensor& mean, const at::Tensor& inverse_std,
                     const at::Tensor& all_sums, double count, at::Tensor& dx) {
  const BatchLayout layout = layout_of(x);
  const auto gain = to_doubles(weight), mu = to_doubles(mean), inverse = to_doubles(inverse_std);
  const auto sums = to_doubles(all_sums);
  ChannelConstants<T> k(layout.channels);
  for (std::size_t c = 0; c < mu.size(); ++c) {
    const double scale = gain[c] * inverse[c];
    const double slope = -scale * inverse[c] * sums[mu.size() + c] / count;
    k.centre[c] = static_cast<T>(mu[c]);
    k.scale[c] = static_cast<T>(scale);
    k.slope[c] = static_cast<T>(slope);
    k.offset[c] = static_cast<T>(-scale * sums[c] / count -
                                 slope * (mu[c] - static_cast<double>(k.centre[c])));
  }
  input_gradient<T>(dy.const_data_ptr<T>(), x.const_data_ptr<T>(), layout, k.centre.data(),
                    k.scale.data(), k.slope.data(), k.offset.data(), dx.mutable_data_ptr<T>());
}

// Local sums of dy and of dy * xhat, [2C] in float64.
at::Tensor local_gradient_sums(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& mean,
                               const at::Tensor& inverse_std) {
  at::Tensor sums = at::empty({2, x.size(1)}, mean.options());
  if (!x.is_cpu()) {
    gradient_moments_by_tensor_ops(dy, x, mean, sums);
  } else {
    dispatch(x, [&](auto zero) {
      using T = decltype(zero);
      const at::Tensor centre = mean.to(c10::CppTypeToScalarType<T>::value);
      gradient_moments<T>(dy.const_data_ptr<T>(), x.const_data_ptr<T>(), layout_of(x),
                          centre.const_data_ptr<T>(), sums.mutable_data_ptr<double>());
      // The kernel centred on the mean rounded to T.
      sums[1].sub_((mean - centre.to(at::kDouble)).mul_(sums[0]));
    });
  }
  sums[1].mul_(inverse_std);
  return sums;
}

void all_reduce(at::Tensor& values, comm::Collectives& collectives) {
  collectives.all_reduce(values.mutable_data_ptr<double>(),
                         static_cast<std::size_t>(values.numel()), comm::DataType::kFloat64,
                         comm::ReduceOp::kSum);
}

// Carries the communicator, which outlives the network, from the forward to the backward pass.
struct CommunicatorHolder : torch::CustomClassHolder {
  explicit CommunicatorHolder(comm::Collectives& communicator) : collectives(communicator) {}
  comm::Collectives& collectives;
};

class BatchNormFunction : public torch::autograd::Function<BatchNormFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& weight, const at::Tensor& bias,
                            const at::Tensor& mean, const at::Tensor& inverse_std, double count,
                            comm::Collectives* collectives) {
    const at::MemoryFormat format = format_of(input);
    const at::Tensor x = input.contiguous(format);
    at::Tensor y = at::empty(x.sizes(), x.options().memory_format(format));
    if (!x.is_cpu()) {
      normalise_by_tensor_ops(x, weight, bias, mean, inverse_std, y);
    } else {
      dispatch(x, [&](auto zero) {
        forward_on_cpu<decltype(zero)>(x, weight, bias, mean, inverse_std, y);
      });
    }
    context->save_for_backward({x, weight, mean, inverse_std});
    context->saved_data["count"] = count;
    context->saved_data["collectives"] =
        c10::IValue::make_capsule(c10::make_intrusive<CommunicatorHolder>(*collectives));
    return y;
  }

  static torch::autograd::variable_list backward(AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    require(!at::GradMode::is_enabled(), "SyncBatchNorm has no second derivative",
            "its backward pass was asked to record a graph", "call backward without create_graph");
    const auto saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &mean = saved[2], &inverse_std = saved[3];
    const at::Tensor dy = gradients[0].contiguous(format_of(x));
    const double count = context->saved_data["count"].toDouble();

    at::Tensor sums = local_gradient_sums(dy, x, mean, inverse_std);
    const at::Tensor dbias = sums[0].to(weight.scalar_type(), false, /*copy=*/true);
    const at::Tensor dweight = sums[1].to(weight.scalar_type(), false, /*copy=*/true);
    at::Tensor dx;
    if (context->needs_input_grad(0)) {
      const auto holder = context->saved_data["collectives"].toCapsule();
      all_reduce(sums, static_cast<CommunicatorHolder&>(*holder).collectives);
      dx = at::empty(x.sizes(), x.options().memory_format(format_of(x)));
      if (x.numel() == 0) {
        // The other ranks needed this one's part in the sum; there is nothing to compute here.
      } else if (!x.is_cpu()) {
        input_gradient_by_tensor_ops(dy, x, weight, mean, inverse_std, sums, count, dx);
      } else {
        dispatch(x, [&](auto zero) {
          backward_on_cpu<decltype(zero)>(dy, x, weight, mean, inverse_std, sums, count, dx);
        });
      }
    }
    return {dx, dweight, dbias, {}, {}, {}, {}};
  }
};

}  // namespace

BatchStatistics batch_statistics(const at::Tensor& input, const at::Tensor& shift,
                                 comm::Collectives& collectives) {
  const at::NoGradGuard no_grad;
  const at::Tensor x = input.detach().contiguous(format_of(input));
  const at::Tensor centre = shift.detach().to(at::kDouble).contiguous();
  const std::int64_t channels = x.size(1);
  at::Tensor sums = at::empty({1 + 2 * channels}, centre.options());
  sums[0].fill_(static_cast<double>(layout_of(x).values_per_channel()));
  if (!x.is_cpu()) {
    at::Tensor moments = sums.slice(0, 1).view({2, channels});
    channel_moments_by_tensor_ops(x, centre, moments);
  } else {
    dispatch(x, [&](auto zero) {
      using T = decltype(zero);
      channel_moments<T>(x.const_data_ptr<T>(), layout_of(x), centre.const_data_ptr<double>(),
                         sums.mutable_data_ptr<double>() + 1);
    });
  }
  all_reduce(sums, collectives);

  BatchStatistics statistics;
  statistics.count = sums[0].item<double>();
  const double divisor = std::max(1.0, statistics.count);
  const at::Tensor offset = sums.slice(0, 1, 1 + channels) / divisor;
  statistics.mean = centre + offset;
  statistics.variance = (sums.slice(0, 1 + channels) / divisor - offset.square()).clamp_min_(0.0);
  return statistics;
}

at::Tensor synchronised_batch_norm(const at::Tensor& x, const at::Tensor& weight,
                                   const at::Tensor& bias, const BatchStatistics& statistics,
                                   double eps, comm::Collectives& collectives) {
  const at::Tensor inverse_std = (statistics.variance + eps).rsqrt();
  return BatchNormFunction::apply(x, weight, bias, statistics.mean, inverse_std, statistics.count,
                                  &collectives);
}

}  // namespace lockstep::model
