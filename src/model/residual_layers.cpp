#include "residual_layers.hpp"

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/flatten.h>

namespace lockstep::model {

std::shared_ptr<Conv2d> conv3x3(std::int64_t in_channels, std::int64_t out_channels,
                                std::int64_t stride) {
  const Conv2d::Geometry geometry{.kernel = 3, .stride = stride, .padding = 1};
  return std::make_shared<Conv2d>(in_channels, out_channels, geometry, false);
}

std::shared_ptr<Conv2d> conv1x1(std::int64_t in_channels, std::int64_t out_channels,
                                std::int64_t stride) {
  const Conv2d::Geometry geometry{.kernel = 1, .stride = stride, .padding = 0};
  return std::make_shared<Conv2d>(in_channels, out_channels, geometry, false);
}

std::shared_ptr<SyncBatchNorm> NormMaker::operator()(std::int64_t channels) const {
  return std::make_shared<SyncBatchNorm>(channels, momentum_, bn_comm_);
}

at::Tensor mean_over_pixels(const at::Tensor& x) {
  return at::flatten(at::adaptive_avg_pool2d(x, {1, 1}), 1);
}

}  // namespace lockstep::model
