#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lockstep/base/check.hpp"

namespace lockstep::data {

/// A picture of 8-bit RGB: `rgb` is [height, width, 3].
struct Image {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<std::uint8_t> rgb;
};

enum class ImageFormat { kJpeg, kPng, kWebp, kBmp, kPnm, kTiff, kGif, kHeif, kUnknown };

/// The format by the first bytes; the name of the file plays no part.
[[nodiscard]] ImageFormat detect_format(std::span<const std::uint8_t> bytes) noexcept;
/// "JPEG", "PNG", "WebP", ...
[[nodiscard]] std::string format_name(ImageFormat format);

/// A picture that cannot be used. kind() is short and the same for all pictures with this fault
/// ("empty file", "damaged JPEG", "WebP is not supported here"), for counting.
class ImageError : public Error {
 public:
  ImageError(const std::string& source, std::string kind, const std::string& detail,
             const std::string& hint);
  [[nodiscard]] const std::string& kind() const noexcept { return kind_; }

 private:
  std::string kind_;
};

struct DecodeOptions {
  std::array<std::uint8_t, 3> background{};  ///< what transparent pixels show (black)
  /// Larger pictures are refused before any memory is taken for their pixels.
  std::int64_t max_pixels = 178'956'970;
};

/// Decodes JPEG (grey, RGB, YCbCr, CMYK and YCCK stored inverted as Adobe does; baseline and
/// progressive) or PNG (all colour types and depths; 16 bit is scaled, alpha composited), applies
/// the EXIF orientation. Whatever the library complains about in a JPEG (missing data, too) and
/// every wrong checksum in a PNG is an error. Throws ImageError naming `source`. Thread-safe.
[[nodiscard]] Image decode_image(std::span<const std::uint8_t> bytes, const std::string& source,
                                 const DecodeOptions& options = {});

/// The picture as an EXIF orientation (1 to 8) wants it seen; other values mean 1.
[[nodiscard]] Image apply_orientation(Image image, int orientation);

}  // namespace lockstep::data
