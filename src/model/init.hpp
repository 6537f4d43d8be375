#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <string_view>

namespace lockstep::model {

/// Distribution of a weight [out, in] or [out, in, kh, kw]; fan_in = in * kh * kw, fan_out alike.
enum class WeightInit {
  kKaimingFanIn,   ///< normal(0, sqrt(2 / fan_in)), He et al. 2015
  kKaimingFanOut,  ///< normal(0, sqrt(2 / fan_out))
  kXavier,         ///< uniform within +-sqrt(6 / (fan_in + fan_out)), Glorot and Bengio 2010
  kNormal001,      ///< normal(0, 0.01)
  kNormal002,      ///< normal(0, 0.02)
  kUniformFanIn    ///< uniform within +-1 / sqrt(fan_in): PyTorch's default for its layers
};
enum class BiasInit {
  kZero,
  kUniformFanIn  ///< as WeightInit::kUniformFanIn, fan_in of the weight beside it
};

struct InitRule {
  WeightInit convolution = WeightInit::kKaimingFanOut;
  WeightInit linear = WeightInit::kUniformFanIn;
  BiasInit bias = BiasInit::kZero;
};

/// Sets all weights of convolutions (parameters of 4 dimensions) and linear layers (of 2) and the
/// bias beside one, named alike ("<layer>.weight" and "<layer>.bias", "in_proj_weight" and
/// "in_proj_bias"). Embeddings (of 3 dimensions) are kNormal002 whatever the rule; parameters of
/// one dimension, those of normalisation, keep their values. Element e of parameter `name` is a
/// pure function of (seed, name, e): key = derive_key(seed, kInit, name_hash(name)), words =
/// random_words(key, 0, e / 4). Uniform: word e%4 on [-bound, bound). Normal: Box-Muller of words
/// (0, 1) gives elements 0 (cosine) and 1 (sine), of (2, 3) elements 2 and 3. Computed in float64,
/// rounded to the parameter's type.
void initialise(torch::nn::Module& network, const InitRule& rule, std::uint64_t seed);

/// FNV-1a, 64 bits: part of the definition of all initial weights.
[[nodiscard]] std::uint64_t name_hash(std::string_view name) noexcept;

}  // namespace lockstep::model
