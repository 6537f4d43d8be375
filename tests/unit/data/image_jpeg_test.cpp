#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "encode_images.hpp"
#include "lockstep/data/image_decode.hpp"

namespace lockstep::data {
namespace {

using encode::Bytes;

/// A flat picture of one colour: what JPEG keeps within a level or two.
Bytes flat(std::size_t pixels, const Bytes& colour) {
  Bytes samples;
  for (std::size_t i = 0; i < pixels; ++i) {
    samples.insert(samples.end(), colour.begin(), colour.end());
  }
  return samples;
}

void expect_flat(const Image& image, std::array<int, 3> colour) {
  for (std::size_t i = 0; i < image.rgb.size(); ++i) {
    ASSERT_NEAR(image.rgb[i], colour[i % 3], 2) << "byte " << i;
  }
}

/// Left half red, right half blue, 8 rows and 32 columns.
Bytes red_and_blue() {
  Bytes samples;
  for (int i = 0; i < 8 * 32; ++i) {
    const bool left = i % 32 < 16;
    samples.insert(samples.end(), {static_cast<std::uint8_t>(left ? 255 : 0), 0,
                                   static_cast<std::uint8_t>(left ? 0 : 255)});
  }
  return encode::jpeg(samples, 8, 32, 3, JCS_RGB);
}

TEST(ImageJpeg, DecodesColourAndGrey) {
  expect_flat(decode_image(encode::jpeg(flat(16 * 8, {200, 40, 90}), 8, 16, 3, JCS_RGB), "a.jpg"),
              {200, 40, 90});
  const Image grey =
      decode_image(encode::jpeg(flat(16 * 8, {77}), 8, 16, 1, JCS_GRAYSCALE), "a.jpg");
  EXPECT_EQ(grey.height, 8);
  EXPECT_EQ(grey.width, 16);
  ASSERT_EQ(grey.rgb.size(), 8U * 16 * 3);
  expect_flat(grey, {77, 77, 77});
}

TEST(ImageJpeg, FourChannelsAreStoredInverted) {
  const Bytes ink = flat(16 * 16, {255, 128, 64, 200});  // stored: 255 is no ink
  const std::array<int, 3> expected{200, 128 * 200 / 255, 64 * 200 / 255};
  expect_flat(decode_image(encode::jpeg(ink, 16, 16, 4, JCS_CMYK), "a.jpg"), expected);
  const auto to_ycck = [](jpeg_compress_struct& codec) { jpeg_set_colorspace(&codec, JCS_YCCK); };
  expect_flat(decode_image(encode::jpeg(ink, 16, 16, 4, JCS_CMYK, to_ycck), "a.jpg"), expected);
}

TEST(ImageJpeg, ProgressiveEqualsBaseline) {
  const Bytes samples = flat(24 * 24, {10, 130, 250});
  const auto progressive = [](jpeg_compress_struct& codec) { jpeg_simple_progression(&codec); };
  EXPECT_EQ(decode_image(encode::jpeg(samples, 24, 24, 3, JCS_RGB, progressive), "a").rgb,
            decode_image(encode::jpeg(samples, 24, 24, 3, JCS_RGB), "a").rgb);
}

TEST(ImageJpeg, AppliesEveryOrientationInBothByteOrders) {
  const Bytes plain = red_and_blue();
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const bool big_endian : {false, true}) {
      const Image seen =
          decode_image(encode::with_app1(plain, encode::exif(orientation, big_endian)), "a.jpg");
      EXPECT_EQ(seen.height, orientation < 5 ? 8 : 32) << orientation;
      // Where the left (red) half of the stored picture is seen: EXIF 2.32, tag 0x0112.
      const std::size_t last = seen.rgb.size() - 3;
      const bool red_first =
          orientation == 1 || orientation == 4 || orientation == 5 || orientation == 6;
      EXPECT_EQ(seen.rgb[0] > 128, red_first) << orientation;
      EXPECT_EQ(seen.rgb[last] > 128, !red_first) << orientation;
    }
  }
}

TEST(ImageJpeg, NonsenseInExifIsIgnored) {
  const Bytes plain = red_and_blue();
  const Image expected = decode_image(plain, "a.jpg");
  for (const int orientation : {0, 9, 255}) {
    const Bytes odd = encode::with_app1(plain, encode::exif(orientation, true));
    EXPECT_EQ(decode_image(odd, "a.jpg").rgb, expected.rgb);
  }
  Bytes block = encode::exif(3, true);
  for (std::size_t size = 6; size < block.size() - 6; ++size) {
    const Bytes cut(block.begin(), block.begin() + static_cast<long>(size));
    const Image image = decode_image(encode::with_app1(plain, cut), "a.jpg");
    EXPECT_EQ(image.rgb.size(), expected.rgb.size());
  }
}

TEST(ImageJpeg, EveryCutIsRefused) {
  const Bytes whole = red_and_blue();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW((void)decode_image({whole.data(), size}, "cut.jpg"), ImageError) << size;
  }
}

TEST(ImageJpeg, FlippedBytesNeverGetBeyondAnImageError) {
  const Bytes whole = red_and_blue();
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    Bytes damaged = whole;
    damaged[at] = static_cast<std::uint8_t>(~damaged[at]);
    try {
      (void)decode_image(damaged, "flipped.jpg", {{}, 1'000'000});
    } catch (const ImageError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 20);
}

TEST(ImageJpeg, TheErrorNamesFileReasonAndKind) {
  const Bytes whole = red_and_blue();
  try {
    (void)decode_image({whole.data(), whole.size() * 2 / 3}, "some/cut.jpg");
    FAIL() << "a cut picture was decoded";
  } catch (const ImageError& error) {
    EXPECT_EQ(error.kind(), "damaged JPEG");
    EXPECT_NE(std::string(error.what()).find("some/cut.jpg"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("Premature end"), std::string::npos) << error.what();
  }
}

TEST(ImageJpeg, TooManyPixelsAreRefusedByName) {
  try {
    (void)decode_image(red_and_blue(), "big.jpg", {{}, 255});
    FAIL() << "8 x 32 pixels passed a limit of 255";
  } catch (const ImageError& error) {
    EXPECT_EQ(error.kind(), "too many pixels");
    EXPECT_NE(std::string(error.what()).find("32x8"), std::string::npos) << error.what();
  }
  EXPECT_EQ(decode_image(red_and_blue(), "big.jpg", {{}, 256}).height, 8);
}

TEST(ImageJpeg, HundredsOfScansAreRefused) {
  // One scan for DC, then for each AC coefficient a first one and nine that refine it.
  std::vector<jpeg_scan_info> script{{1, {0}, 0, 0, 0, 0}};
  for (int k = 1; k < 64; ++k) {
    for (int low = 9; low >= 0; --low)
      script.push_back({1, {0}, k, k, low == 9 ? 0 : low + 1, low});
  }
  const auto set_up = [&](jpeg_compress_struct& codec) {
    codec.scan_info = script.data();
    codec.num_scans = static_cast<int>(script.size());
  };
  const Bytes bytes = encode::jpeg(flat(64, {9}), 8, 8, 1, JCS_GRAYSCALE, set_up);
  try {
    (void)decode_image(bytes, "scans.jpg");
    FAIL() << script.size() << " scans were decoded";
  } catch (const ImageError& error) {
    EXPECT_NE(std::string(error.what()).find("scans"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace lockstep::data
