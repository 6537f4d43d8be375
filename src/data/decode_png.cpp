#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "image_codecs.hpp"

namespace lockstep::data::codec {
namespace {

struct Source {
  const std::uint8_t* bytes;
  std::size_t size;
  std::size_t position;
  char error[256];
};

[[noreturn]] void on_error(png_structp png, png_const_charp text) {
  auto* source = static_cast<Source*>(png_get_error_ptr(png));
  std::strncpy(source->error, text, sizeof(source->error) - 1);
  png_longjmp(png, 1);
}

// Warnings concern things beside the pixels (colour profiles, dates); every checksum is an error.
void on_warning(png_structp /*png*/, png_const_charp /*text*/) {}

void read_bytes(png_structp png, png_bytep out, std::size_t count) {
  auto* source = static_cast<Source*>(png_get_io_ptr(png));
  if (count > source->size - source->position) png_error(png, "the file ends too early");
  std::memcpy(out, source->bytes + source->position, count);
  source->position += count;
}

/// libpng leaves by longjmp: the members that call it set the jump themselves and hold no object
/// with a destructor.
class Decoder {
 public:
  Decoder(const std::uint8_t* bytes, std::size_t size) : source_{bytes, size, 0, {}} {}
  ~Decoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  bool read_header() {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &source_, on_error, on_warning);
    info_ = png_ == nullptr ? nullptr : png_create_info_struct(png_);
    if (info_ == nullptr) return false;
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, &source_, read_bytes);
    png_set_crc_action(png_, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    png_read_info(png_, info_);
    height_ = png_get_image_height(png_, info_);
    width_ = png_get_image_width(png_, info_);
    // Palette to RGB, less than 8 bits to 8, a transparent colour to alpha; 16 bits are scaled.
    png_set_expand(png_);
    png_set_scale_16(png_);
    png_set_gray_to_rgb(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    channels_ = png_get_channels(png_, info_);
    return true;
  }

  bool read_pixels(png_bytepp rows) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_image(png_, rows);
    png_read_end(png_, info_);
    return true;
  }

  /// Bytes of the eXIf chunk; empty without one.
  [[nodiscard]] std::span<const std::uint8_t> exif() {
    png_bytep data = nullptr;
    png_uint_32 size = 0;
    if (png_get_eXIf_1(png_, info_, &size, &data) == 0) return {};
    return {data, size};
  }

  [[nodiscard]] std::int64_t height() const { return height_; }
  [[nodiscard]] std::int64_t width() const { return width_; }
  [[nodiscard]] std::int64_t channels() const { return channels_; }
  [[nodiscard]] std::string reason() const { return source_.error; }

 private:
  Source source_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::int64_t height_ = 0;
  std::int64_t width_ = 0;
  std::int64_t channels_ = 0;
};

[[noreturn]] void refuse(const std::string& source, const std::string& reason) {
  throw ImageError(source, "damaged PNG", reason, "restore or remove it");
}

std::vector<std::uint8_t> composite(const std::vector<std::uint8_t>& rgba,
                                    const std::array<std::uint8_t, 3>& background) {
  std::vector<std::uint8_t> rgb(rgba.size() / 4 * 3);
  for (std::size_t i = 0; i < rgba.size() / 4; ++i) {
    const int alpha = rgba[i * 4 + 3];
    for (std::size_t c = 0; c < 3; ++c) {
      rgb[i * 3 + c] = static_cast<std::uint8_t>(
          (rgba[i * 4 + c] * alpha + background[c] * (255 - alpha) + 127) / 255);
    }
  }
  return rgb;
}

}  // namespace

Image decode_png(std::span<const std::uint8_t> bytes, const std::string& source,
                 const DecodeOptions& options) {
  Decoder decoder(bytes.data(), bytes.size());
  if (!decoder.read_header()) refuse(source, decoder.reason());
  check_size(decoder.height(), decoder.width(), source, options);
  const auto stride = static_cast<std::size_t>(decoder.width() * decoder.channels());
  std::vector<std::uint8_t> pixels(stride * static_cast<std::size_t>(decoder.height()));
  std::vector<png_bytep> rows(static_cast<std::size_t>(decoder.height()));
  for (std::size_t y = 0; y < rows.size(); ++y) rows[y] = pixels.data() + y * stride;
  if (!decoder.read_pixels(rows.data())) refuse(source, decoder.reason());
  if (decoder.channels() == 4) pixels = composite(pixels, options.background);
  Image image{decoder.height(), decoder.width(), std::move(pixels)};

  const auto exif = decoder.exif();
  if (exif.empty()) return image;
  // The chunk lacks the header that the block of a JPEG has, and that the parser asks for.
  std::vector<std::uint8_t> block{'E', 'x', 'i', 'f', 0, 0};
  block.insert(block.end(), exif.begin(), exif.end());
  return apply_orientation(std::move(image), exif_orientation(block));
}

}  // namespace lockstep::data::codec
