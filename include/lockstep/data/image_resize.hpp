#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "lockstep/data/image_decode.hpp"

namespace lockstep::data {

enum class Fit {
  kCrop,    ///< scale until the target is covered, cut the centre out
  kPad,     ///< scale until the picture fits, centre it on the background
  kStretch  ///< scale each axis on its own
};

/// "crop", "pad", "stretch".
[[nodiscard]] std::string fit_name(Fit fit);
/// Nothing for any other word.
[[nodiscard]] std::optional<Fit> fit_from_name(const std::string& name) noexcept;

struct ResizeOptions {
  std::int64_t height = 0;
  std::int64_t width = 0;
  Fit fit = Fit::kCrop;
  std::array<std::uint8_t, 3> background{};  ///< around a padded picture
};

/// Antialiased bilinear: a triangle filter, as wide as the scale when shrinking (what Pillow calls
/// BILINEAR). Horizontal pass, rounded to 8 bit, then vertical pass.
[[nodiscard]] Image resize_bilinear(const Image& image, std::int64_t height, std::int64_t width);

/// Brings a picture to height x width. The scaled size is rounded to whole pixels; an odd rest
/// leaves the extra pixel at the bottom and on the right.
[[nodiscard]] Image fit_image(const Image& image, const ResizeOptions& options);

}  // namespace lockstep::data
