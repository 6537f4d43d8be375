#include "lib/contact_sheet.hpp"

#include <stb/stb_easy_font.h>

#include <algorithm>
#include <array>
#include <vector>

#include "lib/png_file.hpp"
#include "lockstep/data/image_resize.hpp"

namespace lockstep::tools {
namespace {

constexpr std::int64_t kColumns = 8;
constexpr std::int64_t kCell = 96;  // pixels of the longer side of a picture, about
constexpr std::int64_t kMargin = 6;
constexpr std::int64_t kTextHeight = 14;

/// An RGB canvas, white at first.
struct Canvas {
  std::int64_t height;
  std::int64_t width;
  std::vector<std::uint8_t> rgb;
  Canvas(std::int64_t h, std::int64_t w)
      : height(h), width(w), rgb(static_cast<std::size_t>(h * w * 3), 255) {}
  void set(std::int64_t y, std::int64_t x, const std::uint8_t* colour) {
    if (y >= 0 && y < height && x >= 0 && x < width) {
      std::copy_n(colour, 3, rgb.data() + (y * width + x) * 3);
    }
  }
};

void draw_text(Canvas& canvas, std::int64_t y, std::int64_t x, std::int64_t room,
               const std::string& text) {
  // stb_easy_font fills quads of four corners, each x, y, z as floats and a colour.
  struct Corner {
    float x, y, z;
    std::array<unsigned char, 4> colour;
  };
  std::string printable;
  for (const char c : text) {
    // The font is ASCII; a character of several bytes in UTF-8 becomes one mark, at its first byte.
    const bool continues = (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
    if (!continues) printable += c >= ' ' && c < 127 ? c : '?';
  }
  while (!printable.empty() && stb_easy_font_width(printable.data()) > room) printable.pop_back();
  std::array<Corner, 4096> corners{};
  const int quads = stb_easy_font_print(0, 0, printable.data(), nullptr, corners.data(),
                                        static_cast<int>(sizeof corners));
  constexpr std::array<std::uint8_t, 3> kBlack{};
  for (int quad = 0; quad < quads; ++quad) {
    const Corner& from = corners[static_cast<std::size_t>(quad) * 4];
    const Corner& to = corners[static_cast<std::size_t>(quad) * 4 + 2];
    for (auto row = static_cast<std::int64_t>(from.y); row < static_cast<std::int64_t>(to.y);
         ++row) {
      for (auto column = static_cast<std::int64_t>(from.x);
           column < static_cast<std::int64_t>(to.x); ++column) {
        canvas.set(y + row, x + column, kBlack.data());
      }
    }
  }
}

/// Enlarged by repeating pixels, or shrunk with the filter of packing.
data::Image to_cell(data::Image image) {
  const std::int64_t longer = std::max(image.height, image.width);
  if (longer > kCell) {
    return data::resize_bilinear(image, std::max<std::int64_t>(1, image.height * kCell / longer),
                                 std::max<std::int64_t>(1, image.width * kCell / longer));
  }
  const std::int64_t factor = std::max<std::int64_t>(1, kCell / longer);
  data::Image large{image.height * factor, image.width * factor, {}};
  large.rgb.resize(static_cast<std::size_t>(large.height * large.width * 3));
  for (std::int64_t y = 0; y < large.height; ++y) {
    for (std::int64_t x = 0; x < large.width; ++x) {
      std::copy_n(image.rgb.data() + (y / factor * image.width + x / factor) * 3, 3,
                  large.rgb.data() + (y * large.width + x) * 3);
    }
  }
  return large;
}

}  // namespace

void write_contact_sheet(const data::ShardSet& set, std::int64_t count, const std::string& file) {
  count = std::min(count, set.size());
  const std::int64_t rows = (count + kColumns - 1) / kColumns;
  const std::int64_t pitch_x = kCell + kMargin;
  const std::int64_t pitch_y = kCell + kTextHeight + kMargin;
  Canvas canvas(rows * pitch_y + kMargin, kColumns * pitch_x + kMargin);
  for (std::int64_t id = 0; id < count; ++id) {
    data::Image image{set.info().height, set.info().width, {}};
    image.rgb.resize(static_cast<std::size_t>(set.sample_bytes()));
    set.read(id, image.rgb.data());
    const data::Image cell = to_cell(std::move(image));
    const std::int64_t top = kMargin + id / kColumns * pitch_y;
    const std::int64_t left = kMargin + id % kColumns * pitch_x;
    for (std::int64_t y = 0; y < cell.height; ++y) {
      for (std::int64_t x = 0; x < cell.width; ++x) {
        canvas.set(top + y, left + x, cell.rgb.data() + (y * cell.width + x) * 3);
      }
    }
    const auto label = static_cast<std::size_t>(set.labels()[static_cast<std::size_t>(id)]);
    draw_text(canvas, top + kCell + 2, left, kCell,
              std::to_string(label) + " " + set.info().classes[label]);
  }
  replace_png(file, {canvas.height, canvas.width, std::move(canvas.rgb)});
}

}  // namespace lockstep::tools
