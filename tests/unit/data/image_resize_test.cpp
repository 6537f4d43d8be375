#include "lockstep/data/image_resize.hpp"

#include <gtest/gtest.h>

namespace lockstep::data {
namespace {

Image noise(std::int64_t height, std::int64_t width) {
  Image image{height, width, {}};
  std::uint32_t state = 12345;
  for (std::int64_t i = 0; i < height * width * 3; ++i) {
    state = state * 1664525U + 1013904223U;
    image.rgb.push_back(static_cast<std::uint8_t>(state >> 24U));
  }
  return image;
}

Image flat(std::int64_t height, std::int64_t width) {
  Image image{height, width, {}};
  for (std::int64_t i = 0; i < height * width; ++i) {
    image.rgb.insert(image.rgb.end(), {3, 128, 255});
  }
  return image;
}

TEST(ImageResize, AFlatPictureStaysFlatAtAnySize) {
  for (const std::int64_t from : {1, 2, 3, 7, 40}) {
    for (const std::int64_t to : {1, 2, 5, 7, 33}) {
      const Image image = resize_bilinear(flat(from, from + 3), to, to + 1);
      ASSERT_EQ(image.rgb, flat(to, to + 1).rgb) << from << " to " << to;
    }
  }
}

TEST(ImageResize, SameSizeIsUntouched) {
  const Image image = noise(9, 11);
  EXPECT_EQ(resize_bilinear(image, 9, 11).rgb, image.rgb);
  EXPECT_EQ(fit_image(image, {9, 11, Fit::kPad, {}}).rgb, image.rgb);
}

TEST(ImageResize, HalvingWeighsFourPixelsByATriangle) {
  Image image{1, 8, std::vector<std::uint8_t>(24)};
  for (std::size_t x = 0; x < 8; ++x) image.rgb[x * 3] = static_cast<std::uint8_t>(x * x * 4);
  const Image half = resize_bilinear(image, 1, 4);
  // Inner pixel i: (1, 3, 3, 1) / 8 of the pixels 2i-1 to 2i+2.
  for (std::size_t i = 1; i < 3; ++i) {
    const double expected = (image.rgb[(2 * i - 1) * 3] + 3.0 * image.rgb[2 * i * 3] +
                             3.0 * image.rgb[(2 * i + 1) * 3] + image.rgb[(2 * i + 2) * 3]) /
                            8;
    EXPECT_NEAR(half.rgb[i * 3], expected, 0.51) << i;
  }
  // The first one lacks its left neighbour: (3, 3, 1) / 7.
  EXPECT_NEAR(half.rgb[0], (3.0 * image.rgb[0] + 3.0 * image.rgb[3] + image.rgb[6]) / 7, 0.51);
}

TEST(ImageResize, DoublingInterpolates) {
  const Image image{1, 2, {0, 0, 0, 200, 200, 200}};
  const Image twice = resize_bilinear(image, 1, 4);
  EXPECT_EQ(twice.rgb[0], 0);
  EXPECT_EQ(twice.rgb[3], 50);
  EXPECT_EQ(twice.rgb[6], 150);
  EXPECT_EQ(twice.rgb[9], 200);
}

TEST(ImageResize, FineStripesAverageInsteadOfAliasing) {
  Image stripes{64, 64, {}};
  for (int i = 0; i < 64 * 64; ++i) {
    stripes.rgb.insert(stripes.rgb.end(), 3, static_cast<std::uint8_t>(i % 2 == 0 ? 0 : 255));
  }
  for (const std::uint8_t value : resize_bilinear(stripes, 8, 8).rgb) EXPECT_NEAR(value, 127.5, 5);
}

TEST(ImageResize, CropIsTheCentreOfTheScaledPicture) {
  const Image image = noise(30, 50);
  const Image crop = fit_image(image, {12, 10, Fit::kCrop, {}});
  ASSERT_EQ(crop.height, 12);
  ASSERT_EQ(crop.width, 10);
  const Image scaled = resize_bilinear(image, 12, 20);  // 12/30 covers both axes
  for (std::int64_t y = 0; y < 12; ++y) {
    for (std::int64_t x = 0; x < 30; ++x) {
      ASSERT_EQ(crop.rgb[static_cast<std::size_t>(y * 30 + x)],
                scaled.rgb[static_cast<std::size_t>(y * 60 + 15 + x)]);
    }
  }
}

TEST(ImageResize, PadPutsTheScaledPictureOnTheBackground) {
  const Image image = noise(30, 50);
  const Image padded = fit_image(image, {20, 21, Fit::kPad, {7, 8, 9}});
  const Image scaled = resize_bilinear(image, 13, 21);  // 30 * 21/50 = 12.6
  ASSERT_EQ(padded.rgb.size(), 20U * 21 * 3);
  for (std::int64_t y = 0; y < 20; ++y) {
    for (std::int64_t i = 0; i < 63; ++i) {
      const bool inside = y >= 3 && y < 16;  // the odd row of 7 is at the bottom
      const int expected = inside ? scaled.rgb[static_cast<std::size_t>((y - 3) * 63 + i)]
                                  : static_cast<int>(7 + i % 3);
      ASSERT_EQ(padded.rgb[static_cast<std::size_t>(y * 63 + i)], expected) << y << ", " << i;
    }
  }
}

TEST(ImageResize, StretchScalesEachAxisOnItsOwn) {
  const Image image = noise(30, 50);
  EXPECT_EQ(fit_image(image, {12, 10, Fit::kStretch, {}}).rgb, resize_bilinear(image, 12, 10).rgb);
}

TEST(ImageResize, ExtremeShapes) {
  for (const Fit fit : {Fit::kCrop, Fit::kPad, Fit::kStretch}) {
    EXPECT_EQ(fit_image(flat(1, 20'000), {32, 32, fit, {3, 128, 255}}).rgb, flat(32, 32).rgb);
    EXPECT_EQ(fit_image(flat(20'000, 1), {32, 32, fit, {3, 128, 255}}).rgb, flat(32, 32).rgb);
    EXPECT_EQ(fit_image(flat(1, 1), {5, 9, fit, {3, 128, 255}}).rgb, flat(5, 9).rgb);
  }
}

}  // namespace
}  // namespace lockstep::data
