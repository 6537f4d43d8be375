#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "lockstep/data/loader.hpp"
#include "lockstep/data/picture_source.hpp"
#include "lockstep/data/sampler.hpp"
#include "lockstep/model/network.hpp"

namespace lockstep::train {

/// Runs a network over samples in their order, as it is used after training: no augmentation, no
/// padding, every sample once. Evaluation and prediction are both made of it. The ranks share each
/// batch; there is no collective in it.
class ForwardPass {
 public:
  /// `set` must outlive the pass. `batch_size` is over all ranks; rank and size are those of
  /// `options`.
  ForwardPass(const data::PictureSource& set, std::vector<std::int64_t> ids,
              std::int64_t batch_size, data::LoaderOptions options, c10::Device device);

  /// Begins at the first sample.
  void start();
  /// This rank's samples of the next batch (there may be none) and their logits, float64
  /// [n, classes], contiguous on the CPU; false at the end.
  [[nodiscard]] bool next(model::Network& network, data::Batch& batch, at::Tensor& logits);

  [[nodiscard]] std::int64_t samples() const noexcept { return sampler_.options().samples; }

 private:
  c10::Device device_;
  data::Sampler sampler_;
  std::unique_ptr<data::Loader> loader_;
};

}  // namespace lockstep::train
