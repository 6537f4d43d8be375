#include "lockstep/data/image_resize.hpp"

#include <algorithm>
#include <cmath>

namespace lockstep::data {
namespace {

// Weights are whole numbers with this many fractional bits: a sum of them times 255 fits 32 bits.
constexpr int kFractionBits = 22;

/// What each pixel of one output axis takes from the input: `weights` holds `width` of them a
/// pixel.
struct Taps {
  std::int64_t width = 0;
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> count;
  std::vector<std::int32_t> weights;
};

/// Pixels [begin, begin + length) of an axis scaled from `in` to `out` pixels.
Taps make_taps(std::int64_t in, std::int64_t out, std::int64_t begin, std::int64_t length) {
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double support = std::max(scale, 1.0);  // a triangle reaches one (scaled) pixel each way
  Taps taps;
  taps.width = static_cast<std::int64_t>(std::ceil(support)) * 2 + 1;
  taps.first.resize(static_cast<std::size_t>(length));
  taps.count.resize(static_cast<std::size_t>(length));
  taps.weights.resize(static_cast<std::size_t>(length * taps.width));
  std::vector<double> exact(static_cast<std::size_t>(taps.width));
  for (std::int64_t i = 0; i < length; ++i) {
    const double center = (static_cast<double>(begin + i) + 0.5) * scale;
    const auto first =
        std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(center - support + 0.5)), 0);
    const auto last = std::min(static_cast<std::int64_t>(std::floor(center + support + 0.5)), in);
    double sum = 0;
    for (std::int64_t k = first; k < last; ++k) {
      const double distance = std::abs((static_cast<double>(k) - center + 0.5) / support);
      const double weight = std::max(0.0, 1.0 - distance);
      exact[static_cast<std::size_t>(k - first)] = weight;
      sum += weight;
    }
    taps.first[static_cast<std::size_t>(i)] = first;
    taps.count[static_cast<std::size_t>(i)] = last - first;
    for (std::int64_t k = 0; k < last - first; ++k) {
      taps.weights[static_cast<std::size_t>(i * taps.width + k)] = static_cast<std::int32_t>(
          std::lround(exact[static_cast<std::size_t>(k)] / sum * (1 << kFractionBits)));
    }
  }
  return taps;
}

std::uint8_t to_byte(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
}

constexpr std::int32_t kHalf = 1 << (kFractionBits - 1);

void filter_row(const std::uint8_t* in, const Taps& taps, std::uint8_t* out) {
  for (std::size_t x = 0; x < taps.first.size(); ++x, out += 3) {
    const std::uint8_t* pixel = in + taps.first[x] * 3;
    const std::int32_t* weight = taps.weights.data() + static_cast<std::int64_t>(x) * taps.width;
    std::int32_t sum[3] = {kHalf, kHalf, kHalf};
    for (std::int64_t k = 0; k < taps.count[x]; ++k, pixel += 3) {
      for (int c = 0; c < 3; ++c) sum[c] += pixel[c] * weight[k];
    }
    for (int c = 0; c < 3; ++c) out[c] = to_byte(sum[c]);
  }
}

struct Window {
  std::int64_t top, left, height, width;
};

/// The window of the picture scaled to height x width, without computing the rest.
Image resize_window(const Image& image, std::int64_t height, std::int64_t width,
                    const Window& window) {
  const Taps across = make_taps(image.width, width, window.left, window.width);
  const Taps down = make_taps(image.height, height, window.top, window.height);
  const std::int64_t first_row = down.first.front();
  const std::int64_t rows = down.first.back() + down.count.back() - first_row;
  const auto stride = static_cast<std::size_t>(window.width * 3);
  std::vector<std::uint8_t> narrow(static_cast<std::size_t>(rows) * stride);
  for (std::int64_t y = 0; y < rows; ++y) {
    filter_row(image.rgb.data() + (first_row + y) * image.width * 3, across,
               narrow.data() + static_cast<std::size_t>(y) * stride);
  }
  Image out{window.height, window.width, {}};
  out.rgb.resize(static_cast<std::size_t>(window.height) * stride);
  std::vector<std::int32_t> sums(stride);
  for (std::size_t y = 0; y < static_cast<std::size_t>(window.height); ++y) {
    std::fill(sums.begin(), sums.end(), kHalf);
    for (std::int64_t k = 0; k < down.count[y]; ++k) {
      const std::int32_t weight =
          down.weights[y * static_cast<std::size_t>(down.width) + static_cast<std::size_t>(k)];
      const std::uint8_t* row =
          narrow.data() + static_cast<std::size_t>(down.first[y] - first_row + k) * stride;
      for (std::size_t i = 0; i < stride; ++i) sums[i] += row[i] * weight;
    }
    std::transform(sums.begin(), sums.end(), out.rgb.begin() + static_cast<long>(y * stride),
                   to_byte);
  }
  return out;
}

std::int64_t scaled(std::int64_t length, double factor) {
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(length) * factor));
}

Image pad(const Image& image, const ResizeOptions& options) {
  Image out{options.height, options.width, {}};
  out.rgb.resize(static_cast<std::size_t>(out.height * out.width * 3));
  for (std::size_t i = 0; i < out.rgb.size(); ++i) out.rgb[i] = options.background[i % 3];
  const std::int64_t top = (out.height - image.height) / 2;
  const std::int64_t left = (out.width - image.width) / 2;
  for (std::int64_t y = 0; y < image.height; ++y) {
    std::copy_n(image.rgb.data() + y * image.width * 3, image.width * 3,
                out.rgb.data() + ((top + y) * out.width + left) * 3);
  }
  return out;
}

}  // namespace

Image resize_bilinear(const Image& image, std::int64_t height, std::int64_t width) {
  if (image.height == height && image.width == width) return image;
  return resize_window(image, height, width, {0, 0, height, width});
}

std::string fit_name(Fit fit) {
  switch (fit) {
    case Fit::kPad:
      return "pad";
    case Fit::kStretch:
      return "stretch";
    default:
      return "crop";
  }
}

std::optional<Fit> fit_from_name(const std::string& name) noexcept {
  for (const Fit fit : {Fit::kCrop, Fit::kPad, Fit::kStretch}) {
    if (fit_name(fit) == name) {
      return fit;
    }
  }
  return std::nullopt;
}

Image fit_image(const Image& image, const ResizeOptions& options) {
  if (image.height == options.height && image.width == options.width) return image;
  if (options.fit == Fit::kStretch) {
    return resize_bilinear(image, options.height, options.width);
  }
  const double by_height = static_cast<double>(options.height) / static_cast<double>(image.height);
  const double by_width = static_cast<double>(options.width) / static_cast<double>(image.width);
  if (options.fit == Fit::kPad) {
    const double factor = std::min(by_height, by_width);
    return pad(resize_bilinear(image, std::min(scaled(image.height, factor), options.height),
                               std::min(scaled(image.width, factor), options.width)),
               options);
  }
  const double factor = std::max(by_height, by_width);
  const std::int64_t height = std::max(scaled(image.height, factor), options.height);
  const std::int64_t width = std::max(scaled(image.width, factor), options.width);
  return resize_window(
      image, height, width,
      {(height - options.height) / 2, (width - options.width) / 2, options.height, options.width});
}

}  // namespace lockstep::data
