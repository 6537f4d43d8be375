#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::test {

/// Values that look random and are a formula.
inline at::Tensor wave(at::IntArrayRef sizes, double phase, at::ScalarType type) {
  const std::int64_t count = c10::multiply_integers(sizes);
  return at::sin(at::arange(count, at::kDouble) * 0.7391 + phase).mul(0.5).to(type).view(sizes);
}

/// conv - relu - max pool - conv - relu - mean - linear on 3x8x8 pictures, with a frozen bias and a
/// parameter that the forward pass never uses. Two networks of equal arguments are equal.
struct ReducerNetwork {
  at::ScalarType type;
  bool channels_last;
  at::Tensor conv1, conv1_bias, unused, conv2, conv2_bias, linear, linear_bias;

  explicit ReducerNetwork(at::ScalarType scalar_type, bool in_channels_last = false)
      : type(scalar_type), channels_last(in_channels_last) {
    conv1 = leaf({4, 3, 3, 3}, 0.1);
    conv1_bias = leaf({4}, 0.2);
    unused = leaf({11}, 0.3);
    conv2 = leaf({5, 4, 3, 3}, 0.4);
    conv2_bias = leaf({5}, 0.5).set_requires_grad(false);
    linear = leaf({7, 5}, 0.6);
    linear_bias = leaf({7}, 0.7);
  }

  /// In the order of the network, the frozen one among them.
  [[nodiscard]] std::vector<std::pair<std::string, at::Tensor>> parameters() const {
    return {{"conv1.weight", conv1},     {"conv1.bias", conv1_bias}, {"unused", unused},
            {"conv2.weight", conv2},     {"conv2.bias", conv2_bias}, {"linear.weight", linear},
            {"linear.bias", linear_bias}};
  }

  /// Summed cross-entropy of samples [first, last), divided by `divisor`. Sample s depends on s
  /// alone.
  [[nodiscard]] at::Tensor loss(std::int64_t first, std::int64_t last, double divisor) const {
    at::Tensor images = at::empty({last - first, 3, 8, 8}, type);
    for (std::int64_t s = first; s < last; ++s) {
      images[s - first].copy_(wave({3, 8, 8}, 1.3 * static_cast<double>(s), type));
    }
    if (channels_last) images = images.contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor labels = at::arange(first, last, at::kLong).remainder(7);
    at::Tensor x = at::relu(at::conv2d(images, conv1, conv1_bias, 1, 1));
    x = at::max_pool2d(x, 2);
    x = at::relu(at::conv2d(x, conv2, conv2_bias, 1, 1));
    x = at::linear(x.mean({2, 3}), linear, linear_bias);
    return at::cross_entropy_loss(x, labels, {}, at::Reduction::Sum) / divisor;
  }

 private:
  [[nodiscard]] at::Tensor leaf(at::IntArrayRef sizes, double phase) const {
    at::Tensor tensor = wave(sizes, phase, type);
    if (channels_last && sizes.size() == 4) {
      tensor = tensor.contiguous(at::MemoryFormat::ChannelsLast);
    }
    return tensor.set_requires_grad(true);
  }
};

}  // namespace lockstep::test
