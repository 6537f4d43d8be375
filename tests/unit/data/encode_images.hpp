#pragma once

// jpeglib.h needs size_t and FILE from <cstdio>.
#include <cstdio>
// Then:
#include <jpeglib.h>
#include <png.h>
#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <span>
#include <string>
#include <vector>

/// Encoders for tests: pictures as bytes in memory.
namespace lockstep::data::encode {

using Bytes = std::vector<std::uint8_t>;

/// `set_up` may change the compressor after the defaults are set.
inline Bytes jpeg(const Bytes& samples, unsigned height, unsigned width, int channels,
                  J_COLOR_SPACE space,
                  const std::function<void(jpeg_compress_struct&)>& set_up = {}) {
  jpeg_compress_struct codec{};
  jpeg_error_mgr errors{};
  codec.err = jpeg_std_error(&errors);
  jpeg_create_compress(&codec);
  unsigned char* out = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&codec, &out, &size);
  codec.image_height = height;
  codec.image_width = width;
  codec.input_components = channels;
  codec.in_color_space = space;
  jpeg_set_defaults(&codec);
  jpeg_set_quality(&codec, 100, TRUE);
  if (set_up) set_up(codec);
  jpeg_start_compress(&codec, TRUE);
  while (codec.next_scanline < height) {
    auto* row =
        const_cast<JSAMPROW>(samples.data() + static_cast<std::size_t>(codec.next_scanline) *
                                                  width * static_cast<std::size_t>(channels));
    jpeg_write_scanlines(&codec, &row, 1);
  }
  jpeg_finish_compress(&codec);
  Bytes bytes(out, out + size);
  jpeg_destroy_compress(&codec);
  std::free(out);
  return bytes;
}

struct PngLook {
  int colour_type = PNG_COLOR_TYPE_RGB;
  int bit_depth = 8;
  bool interlaced = false;
};

/// `rows` as PNG stores them (16-bit big-endian, small depths packed); `set_up` may add chunks.
inline Bytes png(const Bytes& rows, unsigned height, unsigned width, const PngLook& look,
                 const std::function<void(png_structp, png_infop)>& set_up = {}) {
  Bytes bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &bytes,
      [](png_structp p, png_bytep data, std::size_t size) {
        auto* to = static_cast<Bytes*>(png_get_io_ptr(p));
        to->insert(to->end(), data, data + size);
      },
      nullptr);
  png_set_IHDR(png, info, width, height, look.bit_depth, look.colour_type,
               look.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (set_up) set_up(png, info);
  png_write_info(png, info);
  const std::size_t stride = rows.size() / height;
  std::vector<png_bytep> lines(height);
  for (unsigned y = 0; y < height; ++y) lines[y] = const_cast<png_bytep>(rows.data()) + y * stride;
  png_write_image(png, lines.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

/// An EXIF block that says `orientation`, as it stands in a JPEG's APP1.
inline Bytes exif(int orientation, bool big_endian) {
  const auto o = static_cast<std::uint8_t>(orientation);
  Bytes block{'E', 'x', 'i', 'f', 0, 0};
  const Bytes body = big_endian ? Bytes{'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0,
                                        3,   0,   0, 0,  1, 0, o, 0, 0, 0, 0, 0,    0}
                                : Bytes{'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3,
                                        0,   1,   0,  0, 0, o, 0, 0, 0, 0, 0,    0, 0};
  block.insert(block.end(), body.begin(), body.end());
  return block;
}

/// The JPEG with an APP1 segment behind its first two bytes.
inline Bytes with_app1(const Bytes& picture, const Bytes& block) {
  Bytes bytes(picture.begin(), picture.begin() + 2);
  const std::size_t length = block.size() + 2;
  for (const auto byte : {std::size_t{0xFF}, std::size_t{0xE1}, length >> 8U, length & 0xFFU}) {
    bytes.push_back(static_cast<std::uint8_t>(byte));
  }
  bytes.insert(bytes.end(), block.begin(), block.end());
  bytes.insert(bytes.end(), picture.begin() + 2, picture.end());
  return bytes;
}

}  // namespace lockstep::data::encode
