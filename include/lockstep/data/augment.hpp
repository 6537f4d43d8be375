#pragma once

#include <array>
#include <cstdint>

namespace lockstep::data {

enum class PadMode { kZero, kReflect };
enum class Layout { kChannelsLast, kContiguous };  ///< NHWC or NCHW order in memory

struct AugmentOptions {
  std::int64_t crop_padding = 0;  ///< pixels; the crop has the size of the picture
  PadMode pad_mode = PadMode::kZero;
  bool flip = false;             ///< horizontal, with probability 1/2
  std::array<double, 3> mean{};  ///< per channel, of values in [0, 1]
  std::array<double, 3> std{1, 1, 1};
};

/// What is done to one sample. The crop's corner lies `dy`, `dx` in the padded picture
/// (crop_padding, crop_padding: unmoved).
struct Transform {
  std::int32_t dy = 0;
  std::int32_t dx = 0;
  bool flip = false;
  bool operator==(const Transform&) const = default;
};

/// Draws the transform of a sample: a pure function of (seed, epoch, sample id).
/// w = random_words(derive_key(seed, kAugmentation, epoch), sample id, 0):
/// dy = bounded(w[0], 2p+1), dx = bounded(w[1], 2p+1), flip = w[2] >> 31.
[[nodiscard]] Transform draw_transform(const AugmentOptions& options, std::uint64_t seed,
                                       std::int64_t epoch, std::int64_t sample_id) noexcept;

/// The transform that leaves a picture as it is (evaluation).
[[nodiscard]] Transform identity_transform(const AugmentOptions& options) noexcept;

/// uint8 [H, W, 3] -> T [3, H, W] in `layout`, in one pass: pad (a zero pixel is the byte 0, before
/// normalisation, as torchvision does), crop, flip, (byte/255 - mean)/std by table.
/// Reflection needs crop_padding < min(H, W). T is float or double.
template <typename T>
class Augmenter {
 public:
  Augmenter(const AugmentOptions& options, std::int64_t height, std::int64_t width, Layout layout);
  void apply(const std::uint8_t* picture, const Transform& transform, T* out) const noexcept;

 private:
  AugmentOptions options_;
  std::int64_t height_;
  std::int64_t width_;
  Layout layout_;
  std::array<std::array<T, 256>, 3> table_{};
};

extern template class Augmenter<float>;
extern template class Augmenter<double>;

}  // namespace lockstep::data
