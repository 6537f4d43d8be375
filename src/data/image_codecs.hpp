#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "lockstep/data/image_decode.hpp"

/// The decoders behind decode_image, one file per format.
namespace lockstep::data::codec {

[[nodiscard]] Image decode_jpeg(std::span<const std::uint8_t> bytes, const std::string& source,
                                const DecodeOptions& options);
[[nodiscard]] Image decode_png(std::span<const std::uint8_t> bytes, const std::string& source,
                               const DecodeOptions& options);

/// Orientation of an EXIF block that begins with "Exif\0\0"; 1 when it says nothing usable.
[[nodiscard]] int exif_orientation(std::span<const std::uint8_t> exif);
/// Throws ImageError when the picture is larger than the limit.
void check_size(std::int64_t height, std::int64_t width, const std::string& source,
                const DecodeOptions& options);

}  // namespace lockstep::data::codec
