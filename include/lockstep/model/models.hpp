#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/base/choice.hpp"
#include "lockstep/comm/collectives.hpp"
#include "lockstep/model/network.hpp"

namespace lockstep::model {

/// simple_cnn: conv1, conv2, fc1, fc2; dropout layers 0 (before fc1) and 1 (before fc2).
/// cifar_cnn: numbered as torchvision's vgg: convolutions features.0, .3, .7, .10, each followed by
/// its SyncBatchNorm features.1, .4, .8, .11; linear classifier.0 and classifier.3; dropout layer 0
/// (before classifier.3).
/// resnet18, resnet34, resnet50: torchvision's names; He et al. 2016, the stride of a bottleneck
/// block in its 3x3 convolution.
/// resnet20, resnet56: the networks for CIFAR of He et al. 2016, section 4.2: conv1, bn1,
/// layer1 to layer3 of blocks 0, 1, ... with conv1, bn1, conv2, bn2, then fc. Shortcuts have no
/// parameters (option A): every second pixel, and zeros for the channels that are missing, half of
/// them before the others.
/// wide_resnet28_10: Zagoruyko, Komodakis 2016: conv1, layer1 to layer3 of blocks 0 to 3 with bn1,
/// conv1, bn2, conv2 and, where the shape changes, shortcut; then bn1, fc. Stages of 10, 20 and 40
/// times `width` channels; dropout layer i (before conv2) in block i, counted over the network.
/// vit_tiny: Dosovitskiy et al. 2021 in the sizes of DeiT-Ti (Touvron et al. 2021), torchvision's
/// names (VisionTransformer): 12 blocks, 3 heads, `width` features (a multiple of 3), 4 times as
/// many in the hidden layers. Patches have 4 x 4 pixels where the picture's longer side is at most
/// 64, else 16 x 16, and have to fill it. Dropout layer 0 after the position embedding; in block i
/// 3i+1 after the attention, 3i+2 in the hidden layer, 3i+3 after the second linear layer.
struct ModelOptions {
  std::string name = "cifar_cnn";
  std::int64_t classes = 10;
  std::int64_t height = 32;
  std::int64_t width_pixels = 32;
  std::string stem = "cifar";  ///< cifar: 3x3 stride 1, no pooling; imagenet: 7x7 stride 2, pooling
  std::int64_t width = 0;      ///< channels of the first stage, or features; 0: the model's own
  double dropout = 0;
  /// model: simple_cnn and the linear layer of residual networks U(+-1/sqrt(fan_in)), weights and
  /// biases; convolutions of cifar_cnn and residual networks Kaiming normal by fan_out; linear
  /// layers of cifar_cnn normal(0, 0.01). vit_tiny as DeiT: linear layers, position embedding and
  /// class token normal(0, 0.02), patches U(+-1/sqrt(fan_in)), biases 0. kaiming_fan_in |
  /// kaiming_fan_out: normal, gain of ReLU (He et al. 2015); xavier: uniform (Glorot, Bengio 2010);
  /// with these three all biases are 0, and embeddings as before.
  std::string init = "model";
  double bn_momentum = 0.1;
  std::uint64_t seed = 1;
  bool unused_parameter = false;  ///< adds "unused" [3], which no forward pass uses (tests)
};

/// Builds a network and initialises it, in float32 on the CPU, the same on all ranks: every weight
/// is a pure function of (seed, parameter name, element). `batch_norm_comm` is the communicator of
/// SyncBatchNorm and must outlive the network. Throws UsageError on an unknown name (nearest
/// named), an option that the model does not have, or pictures too small for it.
[[nodiscard]] std::shared_ptr<Network> make_model(const ModelOptions& options,
                                                  comm::Collectives& batch_norm_comm);

/// The table of models, in the order of the help, each with those of the options that not every
/// model has ("model.dropout").
[[nodiscard]] std::vector<Choice> model_list();
/// The words of model.init and model.stem.
[[nodiscard]] std::vector<Choice> init_list();
[[nodiscard]] std::vector<Choice> stem_list();

/// requires_grad = false for parameters whose name starts with one of the comma separated prefixes;
/// returns how many tensors. Throws UsageError when a prefix matches nothing (nearest named) or
/// when nothing is left to train.
std::int64_t freeze(Network& network, const std::string& prefixes);

/// Lines for the log: parameters in all, trainable, buffers, bytes of weights, gradients, optimizer
/// state (`state_tensors` per trainable parameter).
[[nodiscard]] std::string model_summary(const Network& network, std::int64_t state_tensors);

}  // namespace lockstep::model
