#include <gtest/gtest.h>

#include "encode_images.hpp"
#include "lockstep/data/image_decode.hpp"

namespace lockstep::data {
namespace {

using encode::Bytes;
using encode::PngLook;

std::array<int, 3> pixel(const Image& image, std::int64_t y, std::int64_t x) {
  const std::uint8_t* p = image.rgb.data() + (y * image.width + x) * 3;
  return {p[0], p[1], p[2]};
}

using Rgb = std::array<int, 3>;

Bytes ramp(unsigned height, unsigned width) {
  Bytes rows(static_cast<std::size_t>(height) * width * 3);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::uint8_t>(i * 7);
  return rows;
}

TEST(ImagePng, RgbComesBackExactlyAlsoInterlaced) {
  const Bytes rows = ramp(9, 13);
  for (const bool interlaced : {false, true}) {
    const Bytes file = encode::png(rows, 9, 13, {PNG_COLOR_TYPE_RGB, 8, interlaced});
    const Image image = decode_image(file, "a.png");
    EXPECT_EQ(image.height, 9);
    EXPECT_EQ(image.width, 13);
    EXPECT_EQ(image.rgb, rows);
  }
}

TEST(ImagePng, SmallGreyDepthsFillTheRange) {
  // 4 pixels of 2 bits: 0, 1, 2, 3; 8 pixels of 1 bit.
  const Image two = decode_image(encode::png({0x1B}, 1, 4, {PNG_COLOR_TYPE_GRAY, 2, false}), "a");
  EXPECT_EQ(two.rgb, (Bytes{0, 0, 0, 85, 85, 85, 170, 170, 170, 255, 255, 255}));
  const Image one = decode_image(encode::png({0x80}, 1, 2, {PNG_COLOR_TYPE_GRAY, 1, false}), "a");
  EXPECT_EQ(one.rgb, (Bytes{255, 255, 255, 0, 0, 0}));
}

TEST(ImagePng, SixteenBitsAreScaledNotCut) {
  // 257 * v is v in 16 bits; 0x00FF is nearly 1 of 255, and 0xFF00 nearly 254.
  const Bytes rows{0x00, 0xFF, 0xFF, 0x00, 0x80, 0x80};
  const Image image = decode_image(encode::png(rows, 1, 3, {PNG_COLOR_TYPE_GRAY, 16, false}), "a");
  EXPECT_EQ(pixel(image, 0, 0), (Rgb{1, 1, 1}));
  EXPECT_EQ(pixel(image, 0, 1), (Rgb{254, 254, 254}));
  EXPECT_EQ(pixel(image, 0, 2), (Rgb{128, 128, 128}));
  const Bytes colour{200, 200, 40, 40, 90, 90};
  EXPECT_EQ(decode_image(encode::png(colour, 1, 1, {PNG_COLOR_TYPE_RGB, 16, false}), "a").rgb,
            (Bytes{200, 40, 90}));
}

TEST(ImagePng, AlphaIsCompositedOnTheBackground) {
  const Bytes rows{100, 50, 200, 255, 100, 50, 200, 0, 100, 50, 200, 51};
  const Bytes file = encode::png(rows, 1, 3, {PNG_COLOR_TYPE_RGB_ALPHA, 8, false});
  const Image black = decode_image(file, "a.png");
  EXPECT_EQ(black.rgb, (Bytes{100, 50, 200, 0, 0, 0, 20, 10, 40}));
  const Image colour = decode_image(file, "a.png", {{10, 20, 30}, 1000});
  EXPECT_EQ(pixel(colour, 0, 1), (Rgb{10, 20, 30}));
  EXPECT_EQ(pixel(colour, 0, 2), (Rgb{28, 26, 64}));  // 0.2 of the pixel, 0.8 of the background
  const Bytes grey = encode::png({200, 0, 200, 255}, 1, 2, {PNG_COLOR_TYPE_GRAY_ALPHA, 8, false});
  EXPECT_EQ(decode_image(grey, "a.png").rgb, (Bytes{0, 0, 0, 200, 200, 200}));
}

TEST(ImagePng, PaletteAndItsTransparency) {
  const auto set_up = [](png_structp png, png_infop info) {
    const std::array<png_color, 2> palette{{{1, 2, 3}, {200, 100, 50}}};
    png_set_PLTE(png, info, palette.data(), 2);
    png_byte alpha[2] = {255, 0};
    png_set_tRNS(png, info, alpha, 2, nullptr);
  };
  const Bytes file = encode::png({0, 1}, 1, 2, {PNG_COLOR_TYPE_PALETTE, 8, false}, set_up);
  EXPECT_EQ(decode_image(file, "a.png", {{9, 9, 9}, 1000}).rgb, (Bytes{1, 2, 3, 9, 9, 9}));
}

TEST(ImagePng, AppliesTheOrientationOfItsExifChunk) {
  const Bytes rows{255, 0, 0, 0, 0, 255};  // one row: red, blue
  for (const int orientation : {1, 3, 6}) {
    const auto set_up = [&](png_structp png, png_infop info) {
      Bytes block = encode::exif(orientation, true);
      block.erase(block.begin(), block.begin() + 6);
      png_set_eXIf_1(png, info, static_cast<png_uint_32>(block.size()), block.data());
    };
    const Image image = decode_image(encode::png(rows, 1, 2, PngLook{}, set_up), "a.png");
    EXPECT_EQ(image.height, orientation == 6 ? 2 : 1);
    EXPECT_EQ(image.rgb[0], orientation == 3 ? 0 : 255);
  }
}

TEST(ImagePng, EveryCutAndEveryFlippedByteIsRefused) {
  const Bytes whole = encode::png(ramp(8, 8), 8, 8, PngLook{});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW((void)decode_image({whole.data(), size}, "cut.png"), ImageError) << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    Bytes damaged = whole;
    damaged[at] ^= 1U;
    EXPECT_THROW((void)decode_image(damaged, "flipped.png"), ImageError) << at;
  }
}

TEST(ImagePng, ABombIsRefusedByItsHeader) {
  Bytes file = encode::png(ramp(8, 8), 8, 8, PngLook{});
  const std::size_t header = 12;  // type and data of IHDR follow the signature and a length
  for (const std::size_t at : {std::size_t{18}, std::size_t{22}}) file[at] = 0xEA;  // 0xEA08 pixels
  const auto crc = static_cast<std::uint32_t>(crc32(0, file.data() + header, 17));
  for (std::size_t i = 0; i < 4; ++i) {
    file[header + 17 + i] = static_cast<std::uint8_t>(crc >> (24 - 8 * i));
  }
  try {
    (void)decode_image(file, "bomb.png");
    FAIL() << "59912 x 59912 pixels were decoded";
  } catch (const ImageError& error) {
    EXPECT_EQ(error.kind(), "too many pixels");
    EXPECT_NE(std::string(error.what()).find("bomb.png"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("59912x59912"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace lockstep::data
