#pragma once

#include <torch/types.h>

#include "lockstep/data/loader.hpp"

namespace lockstep::data {

/// The one place where data meets torch. Pictures as a tensor [n, 3, H, W] (channels_last or
/// contiguous strides) that shares the batch's buffer and keeps it alive; n may be 0.
[[nodiscard]] at::Tensor images_tensor(const Batch& batch);
/// Labels as int64 [n].
[[nodiscard]] at::Tensor labels_tensor(const Batch& batch);

}  // namespace lockstep::data
