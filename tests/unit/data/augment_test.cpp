#include "lockstep/data/augment.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "lockstep/base/check.hpp"
#include "lockstep/base/seed.hpp"

namespace lockstep::data {
namespace {

using Picture = std::vector<std::uint8_t>;  // [H, W, 3]

Picture make_picture(std::int64_t height, std::int64_t width) {
  Picture picture(static_cast<std::size_t>(height * width * 3));
  std::uint32_t state = 12345;
  for (auto& byte : picture) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::uint8_t>(state >> 24U);
  }
  return picture;
}

AugmentOptions make_options(std::int64_t padding, PadMode mode) {
  AugmentOptions options;
  options.crop_padding = padding;
  options.pad_mode = mode;
  options.flip = true;
  options.mean = {0.4914, 0.4822, 0.25};
  options.std = {0.2023, 0.1994, 0.5};
  return options;
}

/// In the manner of torchvision, step by step: pad the whole picture, crop, flip, normalise.
/// Returns [3, H, W].
std::vector<double> reference(const Picture& picture, std::int64_t height, std::int64_t width,
                              const AugmentOptions& options, const Transform& transform) {
  const std::int64_t p = options.crop_padding;
  const std::int64_t padded_width = width + 2 * p;
  const auto mirror = [](std::int64_t i, std::int64_t n) {
    while (i < 0 || i >= n) i = i < 0 ? -i : 2 * n - 2 - i;
    return i;
  };
  std::vector<int> padded(static_cast<std::size_t>((height + 2 * p) * padded_width * 3), 0);
  for (std::int64_t y = -p; y < height + p; ++y) {
    for (std::int64_t x = -p; x < width + p; ++x) {
      const bool inside = y >= 0 && y < height && x >= 0 && x < width;
      if (!inside && options.pad_mode == PadMode::kZero) continue;
      for (std::int64_t c = 0; c < 3; ++c) {
        padded[static_cast<std::size_t>(((y + p) * padded_width + x + p) * 3 + c)] =
            picture[static_cast<std::size_t>((mirror(y, height) * width + mirror(x, width)) * 3 +
                                             c)];
      }
    }
  }
  std::vector<double> out;
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) {
        const std::int64_t crop_x = transform.flip ? width - 1 - x : x;
        const auto at = static_cast<std::size_t>(
            ((y + transform.dy) * padded_width + crop_x + transform.dx) * 3);
        out.push_back((padded[at + c] / 255.0 - options.mean[c]) / options.std[c]);
      }
    }
  }
  return out;
}

template <typename T>
void expect_equals_reference(std::int64_t height, std::int64_t width, std::int64_t padding,
                             PadMode mode) {
  SCOPED_TRACE(testing::Message() << height << " x " << width << ", padding " << padding
                                  << ", mode " << static_cast<int>(mode) << ", " << sizeof(T)
                                  << " bytes");
  const AugmentOptions options = make_options(padding, mode);
  const Picture picture = make_picture(height, width);
  const std::int64_t elements = height * width * 3;
  constexpr T kUntouched = static_cast<T>(-12345);
  for (const Layout layout : {Layout::kChannelsLast, Layout::kContiguous}) {
    const Augmenter<T> augmenter(options, height, width, layout);
    for (std::int32_t dy = 0; dy <= 2 * padding; ++dy) {
      for (std::int32_t dx = 0; dx <= 2 * padding; ++dx) {
        for (const bool flip : {false, true}) {
          const Transform transform{dy, dx, flip};
          // One guard on each side: nothing may be written beyond the picture.
          std::vector<T> out(static_cast<std::size_t>(elements + 2), kUntouched);
          augmenter.apply(picture.data(), transform, out.data() + 1);
          ASSERT_EQ(out.front(), kUntouched);
          ASSERT_EQ(out.back(), kUntouched);
          const auto expected = reference(picture, height, width, options, transform);
          for (std::int64_t c = 0, i = 0; c < 3; ++c) {
            for (std::int64_t pixel = 0; pixel < height * width; ++pixel, ++i) {
              const std::int64_t at =
                  layout == Layout::kChannelsLast ? pixel * 3 + c : c * height * width + pixel;
              ASSERT_EQ(out[static_cast<std::size_t>(at + 1)],
                        static_cast<T>(expected[static_cast<std::size_t>(i)]))
                  << "dy " << dy << " dx " << dx << " flip " << flip << " channel " << c
                  << " pixel " << pixel;
            }
          }
        }
      }
    }
  }
}

TEST(Augmenter, EqualsTheReferenceForAllTransformsOddSizesAndPaddings) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> sizes = {
      {1, 1}, {1, 4}, {5, 3}, {4, 7}, {6, 6}};
  for (const auto& [height, width] : sizes) {
    for (std::int64_t padding = 0; padding < std::min(height, width); ++padding) {
      expect_equals_reference<float>(height, width, padding, PadMode::kReflect);
      expect_equals_reference<double>(height, width, padding, PadMode::kReflect);
    }
    // Zero padding may be wider than the picture: crops without a single pixel of it.
    for (std::int64_t padding = 0; padding <= std::max(height, width) + 1; ++padding) {
      expect_equals_reference<float>(height, width, padding, PadMode::kZero);
      expect_equals_reference<double>(height, width, padding, PadMode::kZero);
    }
  }
}

TEST(Augmenter, ZeroPixelsAreNormalisedLikeAllOthers) {
  const AugmentOptions options = make_options(1, PadMode::kZero);
  const Picture white(3, 255);
  std::vector<double> out(3);
  const Augmenter<double> augmenter(options, 1, 1, Layout::kChannelsLast);
  augmenter.apply(white.data(), {0, 0, false}, out.data());
  for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(out[c], -options.mean[c] / options.std[c]);
  augmenter.apply(white.data(), identity_transform(options), out.data());
  for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(out[c], (1 - options.mean[c]) / options.std[c]);
}

TEST(Augmenter, RefusesWhatItCannotDo) {
  const auto make = [](const AugmentOptions& options, std::int64_t height, std::int64_t width) {
    return Augmenter<float>(options, height, width, Layout::kContiguous);
  };
  EXPECT_THROW(make(make_options(3, PadMode::kReflect), 8, 3), Error);
  EXPECT_NO_THROW(make(make_options(2, PadMode::kReflect), 8, 3));
  EXPECT_NO_THROW(make(make_options(3, PadMode::kZero), 8, 3));
  EXPECT_THROW(make(make_options(-1, PadMode::kZero), 8, 3), Error);
  EXPECT_THROW(make(make_options(0, PadMode::kZero), 0, 3), Error);
  AugmentOptions flat = make_options(0, PadMode::kZero);
  flat.std[1] = 0;
  EXPECT_THROW(make(flat, 8, 8), Error);
  flat.std[1] = NAN;
  EXPECT_THROW(make(flat, 8, 8), Error);
}

TEST(DrawTransform, FollowsTheDocumentedFormula) {
  const AugmentOptions options = make_options(4, PadMode::kReflect);
  for (const std::int64_t epoch : {0, 3}) {
    for (std::int64_t id = 0; id < 50; ++id) {
      const auto key = derive_key(99, Stream::kAugmentation, static_cast<std::uint64_t>(epoch));
      const auto w = random_words(key, static_cast<std::uint64_t>(id), 0);
      const Transform expected{static_cast<std::int32_t>((w[0] * std::uint64_t{9}) >> 32U),
                               static_cast<std::int32_t>((w[1] * std::uint64_t{9}) >> 32U),
                               w[2] >= 0x80000000U};
      EXPECT_EQ(draw_transform(options, 99, epoch, id), expected);
    }
  }
}

TEST(DrawTransform, IsSpreadEvenlyAndChangesWithSeedEpochAndSample) {
  AugmentOptions options = make_options(2, PadMode::kZero);
  std::map<std::int32_t, int> rows;
  std::map<std::int32_t, int> columns;
  int flips = 0;
  constexpr int kDraws = 5000;
  int same_epoch = 0;
  int same_seed = 0;
  for (std::int64_t id = 0; id < kDraws; ++id) {
    const Transform t = draw_transform(options, 1, 0, id);
    ++rows[t.dy];
    ++columns[t.dx];
    flips += t.flip ? 1 : 0;
    same_epoch += t == draw_transform(options, 1, 1, id) ? 1 : 0;
    same_seed += t == draw_transform(options, 2, 0, id) ? 1 : 0;
  }
  ASSERT_EQ(rows.size(), 5U);
  ASSERT_EQ(columns.size(), 5U);
  // 1000 expected, standard deviation 28; 2500 and 35; 100 of 5000 coincide by chance, 10.
  for (const auto& [place, count] : rows) EXPECT_NEAR(count, 1000, 170) << "dy " << place;
  for (const auto& [place, count] : columns) EXPECT_NEAR(count, 1000, 170) << "dx " << place;
  EXPECT_NEAR(flips, 2500, 210);
  EXPECT_NEAR(same_epoch, 100, 60);
  EXPECT_NEAR(same_seed, 100, 60);

  options.flip = false;
  options.crop_padding = 0;
  for (std::int64_t id = 0; id < 50; ++id) {
    EXPECT_EQ(draw_transform(options, 1, 0, id), identity_transform(options));
  }
}

}  // namespace
}  // namespace lockstep::data
