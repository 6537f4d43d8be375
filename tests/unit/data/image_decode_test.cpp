#include "lockstep/data/image_decode.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace lockstep::data {
namespace {

namespace fs = std::filesystem;

std::vector<std::uint8_t> bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<std::uint8_t> bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

/// The folder of picture cases beside the clone; empty where there is none.
fs::path cases() {
  const char* shared = std::getenv("LOCKSTEP_SHARED");
  const char* source = std::getenv("LOCKSTEP_SOURCE_DIR");
  const fs::path root = shared != nullptr   ? fs::path(shared)
                        : source != nullptr ? fs::path(source).parent_path() / "shared"
                                            : fs::path("../shared");
  return fs::exists(root / "cases" / "decode_expected.json") ? root / "cases" : fs::path();
}

std::array<double, 3> quadrant_mean(const Image& image, int quadrant) {
  const std::int64_t top = quadrant / 2 * image.height / 2;
  const std::int64_t left = quadrant % 2 * image.width / 2;
  std::array<double, 3> sum{};
  for (std::int64_t y = top; y < top + image.height / 2; ++y) {
    for (std::int64_t x = left; x < left + image.width / 2; ++x) {
      for (std::size_t c = 0; c < 3; ++c) {
        sum[c] += image.rgb[static_cast<std::size_t>((y * image.width + x) * 3) + c];
      }
    }
  }
  const std::int64_t pixels = (image.height / 2) * (image.width / 2);
  for (double& s : sum) s /= static_cast<double>(pixels);
  return sum;
}

TEST(ImageDecode, EverySharedCase) {
  const fs::path folder = cases();
  if (folder.empty()) GTEST_SKIP() << "../shared/cases is not here";
  const auto expected = nlohmann::json::parse(std::ifstream(folder / "decode_expected.json"));
  int decoded = 0;
  int refused = 0;
  for (const auto& [name, wanted] : expected.items()) {
    const std::string suffix = fs::path(name).extension();
    const bool unsupported =
        suffix == ".webp" || suffix == ".bmp" || suffix == ".ppm" || suffix == ".tiff";
    const auto bytes = bytes_of(folder / "decode" / name);
    if (wanted.contains("expect") || unsupported) {
      try {
        (void)decode_image(bytes, name);
        ADD_FAILURE() << name << " was decoded";
      } catch (const ImageError& error) {
        EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
        EXPECT_EQ(unsupported, error.kind().ends_with("is not supported here")) << error.kind();
        ++refused;
      }
      continue;
    }
    const Image image = decode_image(bytes, name);
    ++decoded;
    EXPECT_EQ(image.width, wanted["width"]) << name;
    EXPECT_EQ(image.height, wanted["height"]) << name;
    for (int quadrant = 0; quadrant < 4; ++quadrant) {
      const auto mean = quadrant_mean(image, quadrant);
      for (std::size_t c = 0; c < 3; ++c) {
        EXPECT_NEAR(mean[c], wanted["quadrant_rgb"][static_cast<std::size_t>(quadrant)][c],
                    wanted["tolerance"].get<double>())
            << name << ", quadrant " << quadrant << ", channel " << c;
      }
    }
  }
  EXPECT_GE(decoded, 14);
  EXPECT_GE(refused, 9);
}

TEST(ImageDecode, FormatsByContent) {
  using namespace std::string_view_literals;
  EXPECT_EQ(detect_format(bytes_of("RIFF\x10\0\0\0WEBPVP8L"sv)), ImageFormat::kWebp);
  EXPECT_EQ(detect_format(bytes_of("RIFF\x10\0\0\0WAVEfmt "sv)), ImageFormat::kUnknown);
  EXPECT_EQ(detect_format(bytes_of("GIF89a"sv)), ImageFormat::kGif);
  EXPECT_EQ(detect_format(bytes_of("BM\x36\0"sv)), ImageFormat::kBmp);
  EXPECT_EQ(detect_format(bytes_of("II*\0"sv)), ImageFormat::kTiff);
  EXPECT_EQ(detect_format(bytes_of("MM\0*"sv)), ImageFormat::kTiff);
  EXPECT_EQ(detect_format(bytes_of("P6\n1 1"sv)), ImageFormat::kPnm);
  EXPECT_EQ(detect_format(bytes_of("P6x"sv)), ImageFormat::kUnknown);
  EXPECT_EQ(detect_format(bytes_of("\0\0\0\x20"
                                   "ftypavif"sv)),
            ImageFormat::kHeif);
  EXPECT_EQ(detect_format(bytes_of("\xFF\xD8\xFF\xE0"sv)), ImageFormat::kJpeg);
  EXPECT_EQ(detect_format(bytes_of("\xFF\xD8"sv)), ImageFormat::kUnknown);
  EXPECT_EQ(detect_format({}), ImageFormat::kUnknown);
}

TEST(ImageDecode, WhatIsNoPictureHasItsKind) {
  const auto kind = [](std::string_view text) {
    try {
      (void)decode_image(bytes_of(text), "x.jpg");
    } catch (const ImageError& error) {
      return error.kind();
    }
    return std::string("decoded");
  };
  EXPECT_EQ(kind(""), "empty file");
  EXPECT_EQ(kind("just a text"), "not a picture");
  EXPECT_EQ(kind("GIF89a...."), "GIF is not supported here");
}

TEST(ImageDecode, OrientationsByTheirDefinition) {
  // Stored: 2 rows of 3 pixels, a b c / d e f; only the first channel is looked at.
  const Image stored{2, 3, {'a', 0, 0, 'b', 0, 0, 'c', 0, 0, 'd', 0, 0, 'e', 0, 0, 'f', 0, 0}};
  const auto seen = [&](int orientation) {
    const Image image = apply_orientation(stored, orientation);
    std::string text;
    for (std::int64_t y = 0; y < image.height; ++y) {
      if (y > 0) text += '/';
      for (std::int64_t x = 0; x < image.width; ++x) {
        text += static_cast<char>(image.rgb[static_cast<std::size_t>((y * image.width + x) * 3)]);
      }
    }
    return text;
  };
  EXPECT_EQ(seen(1), "abc/def");
  EXPECT_EQ(seen(2), "cba/fed");
  EXPECT_EQ(seen(3), "fed/cba");
  EXPECT_EQ(seen(4), "def/abc");
  EXPECT_EQ(seen(5), "ad/be/cf");
  EXPECT_EQ(seen(6), "da/eb/fc");
  EXPECT_EQ(seen(7), "fc/eb/da");
  EXPECT_EQ(seen(8), "cf/be/ad");
  EXPECT_EQ(seen(0), "abc/def");
  EXPECT_EQ(seen(9), "abc/def");
}

}  // namespace
}  // namespace lockstep::data
