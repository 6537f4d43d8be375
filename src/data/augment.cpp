#include "lockstep/data/augment.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "lockstep/base/check.hpp"
#include "lockstep/base/seed.hpp"

namespace lockstep::data {

namespace {

constexpr std::int64_t kChannels = 3;

/// -2 -1 | 0 1 2 | 3 4  ->  2 1 | 0 1 2 | 1 0: the edge itself is not repeated.
std::int64_t reflected(std::int64_t i, std::int64_t n) noexcept {
  if (i < 0) return -i;
  return i < n ? i : 2 * (n - 1) - i;
}

/// Where the pixels of one output row go: `out` moves by `step` per pixel (negative: flipped), the
/// channels lie `plane` apart.
template <typename T>
struct RowTarget {
  T* out;
  std::ptrdiff_t step;
  std::ptrdiff_t plane;
};

template <typename T>
using Table = std::array<std::array<T, 256>, 3>;

template <typename T>
void put_pixel(const Table<T>& table, const std::uint8_t* pixel, T* out,
               std::ptrdiff_t plane) noexcept {
  out[0] = table[0][pixel[0]];
  out[plane] = table[1][pixel[1]];
  out[2 * plane] = table[2][pixel[2]];
}

constexpr std::array<std::uint8_t, 3> kZeroPixel{};

/// Pixels [begin, end) of a row, all of them inside the picture. Constant strides let the compiler
/// unroll; four combinations cover both layouts and directions.
template <typename T, int kStep>
void copy_span(const Table<T>& table, const std::uint8_t* source, std::int64_t count, T* out,
               std::ptrdiff_t plane) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    put_pixel(table, source, out, plane);
    source += kChannels;
    out += kStep;
  }
}

template <typename T>
void fill_zero(const Table<T>& table, std::int64_t begin, std::int64_t end,
               const RowTarget<T>& target) noexcept {
  for (std::int64_t x = begin; x < end; ++x) {
    put_pixel(table, kZeroPixel.data(), target.out + x * target.step, target.plane);
  }
}

template <typename T>
void fill_reflected(const Table<T>& table, const std::uint8_t* row, std::int64_t shift,
                    std::int64_t width, std::int64_t begin, std::int64_t end,
                    const RowTarget<T>& target) noexcept {
  for (std::int64_t x = begin; x < end; ++x) {
    put_pixel(table, row + reflected(x + shift, width) * kChannels, target.out + x * target.step,
              target.plane);
  }
}

}  // namespace

Transform draw_transform(const AugmentOptions& options, std::uint64_t seed, std::int64_t epoch,
                         std::int64_t sample_id) noexcept {
  const std::uint64_t key =
      derive_key(seed, Stream::kAugmentation, static_cast<std::uint64_t>(epoch));
  const auto words = random_words(key, static_cast<std::uint64_t>(sample_id), 0);
  const auto places = static_cast<std::uint32_t>(2 * options.crop_padding + 1);
  Transform transform;
  transform.dy = static_cast<std::int32_t>(bounded(words[0], places));
  transform.dx = static_cast<std::int32_t>(bounded(words[1], places));
  transform.flip = options.flip && (words[2] >> 31U) != 0;
  return transform;
}

Transform identity_transform(const AugmentOptions& options) noexcept {
  const auto centre = static_cast<std::int32_t>(options.crop_padding);
  return {centre, centre, false};
}

template <typename T>
Augmenter<T>::Augmenter(const AugmentOptions& options, std::int64_t height, std::int64_t width,
                        Layout layout)
    : options_(options), height_(height), width_(width), layout_(layout) {
  const std::string size = std::to_string(height) + " x " + std::to_string(width);
  const std::string padding = std::to_string(options.crop_padding);
  require(height > 0 && width > 0, "a picture of " + size + " pixels cannot be used",
          "both sides must be at least 1", "pack the set again");
  require(options.crop_padding >= 0 && options.crop_padding < (1 << 30),
          "a crop padding of " + padding + " pixels cannot be used", "it is out of range",
          "use 4 for pictures of 32 x 32 pixels");
  require(options.pad_mode == PadMode::kZero || options.crop_padding < std::min(height, width),
          "reflection cannot pad pictures of " + size + " by " + padding + " pixels",
          "the mirror image is one pixel smaller than the picture",
          "use less padding or pad with zero");
  for (std::size_t c = 0; c < table_.size(); ++c) {
    require(std::isfinite(options.mean[c]) && std::isfinite(options.std[c]) && options.std[c] > 0,
            "channel " + std::to_string(c) + " cannot be normalised",
            "mean " + std::to_string(options.mean[c]) + ", standard deviation " +
                std::to_string(options.std[c]),
            "both must be finite and the deviation above zero");
    for (std::size_t byte = 0; byte < table_[c].size(); ++byte) {
      const double value = static_cast<double>(byte) / 255.0;
      table_[c][byte] = static_cast<T>((value - options.mean[c]) / options.std[c]);
    }
  }
}

template <typename T>
void Augmenter<T>::apply(const std::uint8_t* picture, const Transform& transform,
                         T* out) const noexcept {
  const bool interleaved = layout_ == Layout::kChannelsLast;
  const std::int64_t row_elements = interleaved ? width_ * kChannels : width_;
  const std::ptrdiff_t pixel = interleaved ? kChannels : 1;
  const std::int64_t shift_y = transform.dy - options_.crop_padding;
  const std::int64_t shift_x = transform.dx - options_.crop_padding;
  // Output columns [left, right) come from inside the picture.
  const std::int64_t left = std::clamp<std::int64_t>(-shift_x, 0, width_);
  const std::int64_t right = std::clamp<std::int64_t>(width_ - shift_x, left, width_);

  for (std::int64_t y = 0; y < height_; ++y) {
    RowTarget<T> target{out + y * row_elements, pixel, interleaved ? 1 : height_ * width_};
    if (transform.flip) {
      target.out += (width_ - 1) * pixel;
      target.step = -pixel;
    }
    std::int64_t source_y = y + shift_y;
    if (source_y < 0 || source_y >= height_) {
      if (options_.pad_mode == PadMode::kZero) {
        fill_zero(table_, 0, width_, target);
        continue;
      }
      source_y = reflected(source_y, height_);
    }
    const std::uint8_t* row = picture + source_y * width_ * kChannels;
    if (left < right) {
      const std::uint8_t* inside = row + (left + shift_x) * kChannels;
      T* first = target.out + left * target.step;
      const std::int64_t count = right - left;
      if (interleaved) {
        // The plane is 1 here: written out so that the compiler knows it.
        transform.flip ? copy_span<T, -kChannels>(table_, inside, count, first, 1)
                       : copy_span<T, kChannels>(table_, inside, count, first, 1);
      } else {
        transform.flip ? copy_span<T, -1>(table_, inside, count, first, target.plane)
                       : copy_span<T, 1>(table_, inside, count, first, target.plane);
      }
    }
    if (options_.pad_mode == PadMode::kZero) {
      fill_zero(table_, 0, left, target);
      fill_zero(table_, right, width_, target);
    } else {
      fill_reflected(table_, row, shift_x, width_, 0, left, target);
      fill_reflected(table_, row, shift_x, width_, right, width_, target);
    }
  }
}

template class Augmenter<float>;
template class Augmenter<double>;

}  // namespace lockstep::data
