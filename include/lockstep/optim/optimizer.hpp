#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/base/choice.hpp"

namespace lockstep::optim {

/// A factor of the learning rate for the parameters whose names begin with `prefix`.
struct LrScale {
  std::string prefix;
  double scale = 1;
};

struct OptimizerOptions {
  std::string name = "sgd";
  double momentum = 0.9;  ///< sgd, rmsprop
  bool nesterov = false;
  double weight_decay = 0;
  bool decay_norm_and_bias = false;  ///< false: no decay on parameters of one dimension
  double beta1 = 0.9;                ///< adam, adamw
  double beta2 = 0.999;              ///< adam, adamw
  double alpha = 0.99;               ///< rmsprop: decay of the mean square
  double eps = 1e-8;                 ///< adam, adamw, rmsprop
  std::vector<LrScale> lr_scales;    ///< the longest prefix counts; without one: 1
};

/// A named parameter that requires a gradient.
using NamedParameter = std::pair<std::string, at::Tensor>;

/// Updates parameters from their gradients. Arithmetic as PyTorch's SGD, AdamW, Adam and RMSprop,
/// in the parameters' dtype.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// One update with learning rate `lr`. A parameter without a gradient is an Error.
  virtual void step(double lr) = 0;
  /// State to save, "<slot>.<parameter>" -> tensor ("momentum.conv1.weight"), and the count of
  /// steps. The tensors are the optimizer's own: the next step changes them.
  [[nodiscard]] virtual std::vector<std::pair<std::string, at::Tensor>> state() const = 0;
  [[nodiscard]] virtual std::int64_t steps() const = 0;
  /// State tensors per parameter (SGD with momentum 1, AdamW 2), for the memory summary.
  [[nodiscard]] virtual std::int64_t state_tensors() const = 0;
  /// Goes on from a saved state() and steps(): the next steps are, bit for bit, those of the
  /// optimizer they came from. Strict: every name on both sides once, equal shapes and dtypes.
  /// Copies, and converts nothing but memory order and device. Throws Error naming the first
  /// mismatches; nothing has changed then.
  virtual void load(const std::vector<std::pair<std::string, at::Tensor>>& state,
                    std::int64_t steps) = 0;
};

/// The optimizers, in the order of the help, each with the keys that not all of them use.
[[nodiscard]] std::vector<Choice> optimizer_list();

/// Reads "conv1=0.1, layer1=0.1, fc=10", the value of optim.lr_scale. Throws UsageError on anything
/// else, a prefix that stands twice, and a factor that is no number from 0 to a million.
[[nodiscard]] std::vector<LrScale> parse_lr_scales(const std::string& text);

/// Which factor how many parameters have, for the log: "0.1 for conv1 (1), 10 for fc (2)".
[[nodiscard]] std::string lr_scales_text(const OptimizerOptions& options,
                                         const std::vector<NamedParameter>& parameters);

/// Throws UsageError on an unknown name, an impossible option, and a prefix of lr_scales without a
/// parameter that it counts for.
[[nodiscard]] std::unique_ptr<Optimizer> make_optimizer(
    const OptimizerOptions& options, const std::vector<NamedParameter>& parameters);

}  // namespace lockstep::optim
