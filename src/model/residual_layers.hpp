#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>

#include "basic_layers.hpp"
#include "lockstep/model/layers.hpp"
#include "lockstep/model/models.hpp"

namespace lockstep::model {

// What residual networks are made of.

/// Convolutions without bias, padded so that stride 1 keeps the size of the picture and stride 2
/// halves it, rounded up.
[[nodiscard]] std::shared_ptr<Conv2d> conv3x3(std::int64_t in_channels, std::int64_t out_channels,
                                              std::int64_t stride = 1);
[[nodiscard]] std::shared_ptr<Conv2d> conv1x1(std::int64_t in_channels, std::int64_t out_channels,
                                              std::int64_t stride = 1);

/// Makes the BatchNorms of one network, which share momentum and communicator.
class NormMaker {
 public:
  NormMaker(const ModelOptions& options, comm::Collectives& bn_comm)
      : momentum_(options.bn_momentum), bn_comm_(bn_comm) {}
  [[nodiscard]] std::shared_ptr<SyncBatchNorm> operator()(std::int64_t channels) const;

 private:
  double momentum_;
  comm::Collectives& bn_comm_;
};

/// The mean of each channel over the pixels: [n, C, H, W] -> [n, C].
[[nodiscard]] at::Tensor mean_over_pixels(const at::Tensor& x);

}  // namespace lockstep::model
