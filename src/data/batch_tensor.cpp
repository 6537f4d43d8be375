#include "lockstep/data/batch_tensor.hpp"

#include <ATen/Functions.h>

#include <algorithm>
#include <array>

namespace lockstep::data {

at::Tensor images_tensor(const Batch& batch) {
  constexpr std::int64_t kChannels = 3;
  const std::int64_t height = batch.height;
  const std::int64_t width = batch.width;
  const std::array<std::int64_t, 4> shape{batch.size(), kChannels, height, width};
  const std::array<std::int64_t, 4> strides =
      batch.layout == Layout::kChannelsLast
          ? std::array<std::int64_t, 4>{height * width * kChannels, 1, width * kChannels, kChannels}
          : std::array<std::int64_t, 4>{kChannels * height * width, height * width, width, 1};
  // The tensor owns a copy of the shared pointer: the buffer goes back to the loader when both the
  // batch and every tensor over it are gone.
  return at::from_blob(
      batch.storage.get(), shape, strides, [storage = batch.storage](void*) {},
      at::TensorOptions().dtype(batch.float64 ? at::kDouble : at::kFloat));
}

at::Tensor labels_tensor(const Batch& batch) {
  at::Tensor labels = at::empty({batch.size()}, at::TensorOptions().dtype(at::kLong));
  std::copy(batch.labels.begin(), batch.labels.end(), labels.data_ptr<std::int64_t>());
  return labels;
}

}  // namespace lockstep::data
