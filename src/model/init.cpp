#include "init.hpp"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/types.h>

#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "lockstep/base/seed.hpp"

namespace lockstep::model {
namespace {

struct Distribution {
  bool normal;
  double scale;  // standard deviation, or bound
};

struct Fans {
  double in;
  double out;
};

Fans fans_of(const at::Tensor& weight) {
  const auto receptive = static_cast<double>(weight[0][0].numel());
  return {static_cast<double>(weight.size(1)) * receptive,
          static_cast<double>(weight.size(0)) * receptive};
}

Distribution distribution_of(WeightInit init, const Fans& fans) {
  switch (init) {
    case WeightInit::kKaimingFanIn:
      return {true, std::sqrt(2.0 / fans.in)};
    case WeightInit::kKaimingFanOut:
      return {true, std::sqrt(2.0 / fans.out)};
    case WeightInit::kXavier:
      return {false, std::sqrt(6.0 / (fans.in + fans.out))};
    case WeightInit::kNormal001:
      return {true, 0.01};
    case WeightInit::kNormal002:
      return {true, 0.02};
    case WeightInit::kUniformFanIn:
      break;
  }
  return {false, 1.0 / std::sqrt(fans.in)};
}

WeightInit init_of(const at::Tensor& parameter, const InitRule& rule) {
  if (parameter.dim() == 4) return rule.convolution;
  return parameter.dim() == 2 ? rule.linear : WeightInit::kNormal002;
}

// Four draws of the distribution with scale 1.
std::array<double, 4> draw(const std::array<std::uint32_t, 4>& words, bool normal) {
  std::array<double, 4> values{};
  if (!normal) {
    for (std::size_t i = 0; i < 4; ++i) values[i] = 2.0 * unit_interval(words[i]) - 1.0;
    return values;
  }
  for (std::size_t pair = 0; pair < 4; pair += 2) {
    // Half a step above the word: the logarithm never meets zero.
    const double radius = std::sqrt(-2.0 * std::log(unit_interval(words[pair]) + 0x1p-33));
    const double angle = 2.0 * std::numbers::pi * unit_interval(words[pair + 1]);
    values[pair] = radius * std::cos(angle);
    values[pair + 1] = radius * std::sin(angle);
  }
  return values;
}

void fill(at::Tensor& parameter, const std::string& name, const Distribution& distribution,
          std::uint64_t seed) {
  const std::uint64_t key = derive_key(seed, Stream::kInit, name_hash(name));
  at::Tensor values = at::empty(parameter.sizes(), at::kDouble);
  const std::int64_t count = values.numel();
  double* data = values.mutable_data_ptr<double>();
  constexpr std::int64_t kBlocksPerTask = 4096;
  at::parallel_for(0, (count + 3) / 4, kBlocksPerTask, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const auto four =
          draw(random_words(key, 0, static_cast<std::uint64_t>(block)), distribution.normal);
      for (std::int64_t e = block * 4; e < std::min(count, block * 4 + 4); ++e) {
        data[e] = distribution.scale * four[static_cast<std::size_t>(e % 4)];
      }
    }
  });
  parameter.copy_(values);
}

}  // namespace

std::uint64_t name_hash(std::string_view name) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : name) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001B3U;
  }
  return hash;
}

void initialise(torch::nn::Module& network, const InitRule& rule, std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  auto parameters = network.named_parameters();
  for (auto& item : parameters) {
    if (item.value().dim() < 2) continue;
    const std::string& name = item.key();
    const Fans fans = fans_of(item.value());
    fill(item.value(), name, distribution_of(init_of(item.value(), rule), fans), seed);

    const std::string bias_name = name.substr(0, name.rfind("weight")) + "bias";
    if (at::Tensor* bias = parameters.find(bias_name)) {
      if (rule.bias == BiasInit::kZero) {
        bias->zero_();
      } else {
        fill(*bias, bias_name, distribution_of(WeightInit::kUniformFanIn, fans), seed);
      }
    }
  }
}

}  // namespace lockstep::model
