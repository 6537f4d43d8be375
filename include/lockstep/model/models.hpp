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
/// resnet18: torchvision's names; He et al. 2016.
struct ModelOptions {
  std::string name = "cifar_cnn";
  std::int64_t classes = 10;
  std::int64_t height = 32;
  std::int64_t width_pixels = 32;
  std::string stem = "cifar";  ///< cifar: 3x3 stride 1, no pooling; imagenet: 7x7 stride 2, pooling
  std::int64_t width = 0;      ///< channels of the first stage; 0: the model's own
  double dropout = 0;
  /// model: simple_cnn and the linear layer of resnet18 U(+-1/sqrt(fan_in)), weights and biases;
  /// convolutions of cifar_cnn and resnet18 Kaiming normal by fan_out; linear layers of cifar_cnn
  /// normal(0, 0.01). kaiming_fan_in | kaiming_fan_out: normal, gain of ReLU (He et al. 2015);
  /// xavier: uniform (Glorot, Bengio 2010); with these three all biases are 0.
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
