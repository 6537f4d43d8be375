#include "lockstep/data/image_decode.hpp"

#include <libexif/exif-data.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "image_codecs.hpp"

namespace lockstep::data {
namespace {

bool starts_with(std::span<const std::uint8_t> bytes, std::size_t at, std::string_view magic) {
  return bytes.size() >= at + magic.size() &&
         std::equal(magic.begin(), magic.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

}  // namespace

ImageError::ImageError(const std::string& source, std::string kind, const std::string& detail,
                       const std::string& hint)
    : Error("cannot use the picture " + source, detail.empty() ? kind : kind + ": " + detail, hint),
      kind_(std::move(kind)) {}

ImageFormat detect_format(std::span<const std::uint8_t> bytes) noexcept {
  using namespace std::string_view_literals;
  if (starts_with(bytes, 0, "\xFF\xD8\xFF"sv)) return ImageFormat::kJpeg;
  if (starts_with(bytes, 0, "\x89PNG\r\n\x1A\n"sv)) return ImageFormat::kPng;
  if (starts_with(bytes, 0, "RIFF"sv) && starts_with(bytes, 8, "WEBP"sv)) return ImageFormat::kWebp;
  if (starts_with(bytes, 0, "GIF8"sv)) return ImageFormat::kGif;
  if (starts_with(bytes, 0, "II*\0"sv) || starts_with(bytes, 0, "MM\0*"sv)) {
    return ImageFormat::kTiff;
  }
  if (starts_with(bytes, 4, "ftyp"sv)) return ImageFormat::kHeif;
  if (starts_with(bytes, 0, "BM"sv)) return ImageFormat::kBmp;
  if (bytes.size() >= 3 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '7' &&
      (bytes[2] == '\n' || bytes[2] == ' ' || bytes[2] == '\t' || bytes[2] == '\r')) {
    return ImageFormat::kPnm;
  }
  return ImageFormat::kUnknown;
}

std::string format_name(ImageFormat format) {
  switch (format) {
    case ImageFormat::kJpeg:
      return "JPEG";
    case ImageFormat::kPng:
      return "PNG";
    case ImageFormat::kWebp:
      return "WebP";
    case ImageFormat::kBmp:
      return "BMP";
    case ImageFormat::kPnm:
      return "PNM";
    case ImageFormat::kTiff:
      return "TIFF";
    case ImageFormat::kGif:
      return "GIF";
    case ImageFormat::kHeif:
      return "HEIF or AVIF";
    case ImageFormat::kUnknown:
      break;
  }
  return "unknown";
}

namespace codec {

int exif_orientation(std::span<const std::uint8_t> exif) {
  const std::unique_ptr<ExifData, decltype(&exif_data_unref)> data(
      exif_data_new_from_data(exif.data(), static_cast<unsigned>(exif.size())), exif_data_unref);
  if (data == nullptr) return 1;
  const ExifEntry* entry = exif_content_get_entry(data->ifd[EXIF_IFD_0], EXIF_TAG_ORIENTATION);
  if (entry == nullptr || entry->format != EXIF_FORMAT_SHORT || entry->size < 2) return 1;
  return exif_get_short(entry->data, exif_data_get_byte_order(data.get()));
}

void check_size(std::int64_t height, std::int64_t width, const std::string& source,
                const DecodeOptions& options) {
  // width <= limit / height, so that the product cannot overflow.
  if (height <= 0 || width <= 0 || width > options.max_pixels / height) {
    throw ImageError(source, "too many pixels",
                     std::to_string(width) + "x" + std::to_string(height) + ", the limit is " +
                         std::to_string(options.max_pixels) + " pixels",
                     "shrink it first, or remove it if it is not what it seems");
  }
}

}  // namespace codec

Image decode_image(std::span<const std::uint8_t> bytes, const std::string& source,
                   const DecodeOptions& options) {
  if (bytes.empty()) {
    throw ImageError(source, "empty file", "", "restore or remove it");
  }
  const ImageFormat format = detect_format(bytes);
  switch (format) {
    case ImageFormat::kJpeg:
      return codec::decode_jpeg(bytes, source, options);
    case ImageFormat::kPng:
      return codec::decode_png(bytes, source, options);
    case ImageFormat::kUnknown:
      throw ImageError(source, "not a picture", "its first bytes are those of no picture format",
                       "restore or remove it");
    default:
      throw ImageError(source, format_name(format) + " is not supported here", "",
                       "convert it to PNG or JPEG");
  }
}

Image apply_orientation(Image image, int orientation) {
  if (orientation < 2 || orientation > 8) return image;
  const bool swaps = orientation >= 5;
  const std::int64_t h = image.height;
  const std::int64_t w = image.width;
  Image out{swaps ? w : h, swaps ? h : w, std::vector<std::uint8_t>(image.rgb.size())};
  // The stored pixel that output pixel (0, 0) shows, and where a step down or right leads from it.
  const bool from_bottom =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const std::int64_t row_step = (from_bottom ? -w : w) * 3;
  const std::int64_t column_step = from_right ? -3 : 3;
  const std::int64_t start = ((from_bottom ? h - 1 : 0) * w + (from_right ? w - 1 : 0)) * 3;
  const std::int64_t down = swaps ? column_step : row_step;
  const std::int64_t right = swaps ? row_step : column_step;
  std::uint8_t* target = out.rgb.data();
  for (std::int64_t y = 0; y < out.height; ++y) {
    const std::uint8_t* source = image.rgb.data() + start + y * down;
    for (std::int64_t x = 0; x < out.width; ++x, source += right) {
      target = std::copy_n(source, 3, target);
    }
  }
  return out;
}

}  // namespace lockstep::data
