#include "lockstep/data/batch_tensor.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace lockstep::data {
namespace {

constexpr std::int64_t kHeight = 3;
constexpr std::int64_t kWidth = 5;

/// Element (n, c, y, x) is 1000 n + 100 c + 10 y + x, wherever the layout puts it.
template <typename T>
Batch make_batch(std::int64_t count, Layout layout, const std::shared_ptr<bool>& alive) {
  auto* values = new T[static_cast<std::size_t>(count * 3 * kHeight * kWidth + 1)];
  for (std::int64_t n = 0; n < count; ++n) {
    for (std::int64_t c = 0; c < 3; ++c) {
      for (std::int64_t y = 0; y < kHeight; ++y) {
        for (std::int64_t x = 0; x < kWidth; ++x) {
          const std::int64_t at = layout == Layout::kChannelsLast
                                      ? ((n * kHeight + y) * kWidth + x) * 3 + c
                                      : ((n * 3 + c) * kHeight + y) * kWidth + x;
          values[at] = static_cast<T>(1000 * n + 100 * c + 10 * y + x);
        }
      }
    }
  }
  Batch batch;
  batch.storage = std::shared_ptr<void>(values, [alive](void* pointer) {
    delete[] static_cast<T*>(pointer);
    *alive = false;
  });
  batch.float64 = sizeof(T) == sizeof(double);
  batch.layout = layout;
  batch.height = kHeight;
  batch.width = kWidth;
  for (std::int64_t n = 0; n < count; ++n) {
    batch.ids.push_back(n);
    batch.labels.push_back(7 - n);
  }
  return batch;
}

template <typename T>
void check_images(std::int64_t count, Layout layout) {
  SCOPED_TRACE(testing::Message() << count << " pictures of " << sizeof(T) << "-byte elements");
  const auto alive = std::make_shared<bool>(true);
  auto batch = make_batch<T>(count, layout, alive);
  at::Tensor images = images_tensor(batch);
  // An empty tensor has no address, whatever it was made from.
  EXPECT_EQ(images.data_ptr(), count > 0 ? batch.storage.get() : nullptr);
  EXPECT_EQ(images.sizes().vec(), (std::vector<std::int64_t>{count, 3, kHeight, kWidth}));
  EXPECT_EQ(images.scalar_type(), sizeof(T) == sizeof(double) ? at::kDouble : at::kFloat);
  const auto format = layout == Layout::kChannelsLast ? at::MemoryFormat::ChannelsLast
                                                      : at::MemoryFormat::Contiguous;
  EXPECT_TRUE(images.is_contiguous(format));
  if (count > 0) {
    EXPECT_EQ(images.suggest_memory_format(), format);
  }

  // A copy in any case: sharing the buffer would keep it alive below.
  const auto values = images.to(at::kDouble, /*non_blocking=*/false, /*copy=*/true).contiguous();
  const auto* value = values.template data_ptr<double>();
  for (std::int64_t n = 0; n < count; ++n) {
    for (std::int64_t c = 0; c < 3; ++c) {
      for (std::int64_t y = 0; y < kHeight; ++y) {
        for (std::int64_t x = 0; x < kWidth; ++x) {
          ASSERT_EQ(*value++, static_cast<double>(1000 * n + 100 * c + 10 * y + x));
        }
      }
    }
  }

  // The buffer lives as long as the batch, the tensor or any view of it.
  batch = Batch{};
  EXPECT_TRUE(*alive);
  at::Tensor view = images.select(1, 0);
  images = at::Tensor();
  EXPECT_TRUE(*alive);
  view = at::Tensor();
  EXPECT_FALSE(*alive);
}

TEST(BatchTensor, ImagesShareTheBufferInBothLayoutsAndTypes) {
  for (const Layout layout : {Layout::kChannelsLast, Layout::kContiguous}) {
    for (const std::int64_t count : {0, 1, 4}) {
      check_images<float>(count, layout);
      check_images<double>(count, layout);
    }
  }
}

TEST(BatchTensor, LabelsAreACopyAsInt64) {
  const auto alive = std::make_shared<bool>(true);
  auto batch = make_batch<float>(3, Layout::kContiguous, alive);
  const at::Tensor labels = labels_tensor(batch);
  batch = Batch{};
  ASSERT_EQ(labels.sizes().vec(), std::vector<std::int64_t>{3});
  ASSERT_EQ(labels.scalar_type(), at::kLong);
  for (std::int64_t n = 0; n < 3; ++n) EXPECT_EQ(labels.data_ptr<std::int64_t>()[n], 7 - n);
  EXPECT_EQ(labels_tensor(batch).numel(), 0);
}

}  // namespace
}  // namespace lockstep::data
