#include <csetjmp>
#include <cstdio>
#include <string_view>

#include "image_codecs.hpp"
// jpeglib.h needs size_t and FILE from <cstdio>.
#include <jpeglib.h>

namespace lockstep::data::codec {
namespace {

/// A progressive file of a few kilobytes can ask for thousands of passes over a large picture.
constexpr int kMaxScans = 500;

struct ErrorState {
  jpeg_error_mgr base;  // first: libjpeg hands back a pointer to it
  std::jmp_buf jump;
  char text[JMSG_LENGTH_MAX];
};

[[noreturn]] void leave(j_common_ptr codec) {
  auto* state = reinterpret_cast<ErrorState*>(codec->err);
  state->base.format_message(codec, state->text);
  std::longjmp(state->jump, 1);
}

// A negative level is a warning: libjpeg would go on and invent the missing pixels.
void on_message(j_common_ptr codec, int level) {
  if (level < 0) leave(codec);
}

void on_progress(j_common_ptr codec) {
  if (reinterpret_cast<j_decompress_ptr>(codec)->input_scan_number > kMaxScans) {
    auto* state = reinterpret_cast<ErrorState*>(codec->err);
    std::snprintf(state->text, sizeof(state->text), "more than %d scans", kMaxScans);
    std::longjmp(state->jump, 1);
  }
}

/// libjpeg leaves by longjmp: the members that call it set the jump themselves and hold no object
/// with a destructor.
class Decoder {
 public:
  Decoder() {
    codec_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = leave;
    errors_.base.emit_message = on_message;
    errors_.text[0] = '\0';
    progress_.progress_monitor = on_progress;
  }
  ~Decoder() { jpeg_destroy_decompress(&codec_); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  bool read_header(const std::uint8_t* bytes, std::size_t size) {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_create_decompress(&codec_);
    codec_.progress = &progress_;
    jpeg_mem_src(&codec_, bytes, size);
    jpeg_save_markers(&codec_, JPEG_APP0 + 1, 0xFFFF);
    jpeg_read_header(&codec_, TRUE);
    four_channels_ = codec_.jpeg_color_space == JCS_CMYK || codec_.jpeg_color_space == JCS_YCCK;
    codec_.out_color_space = four_channels_ ? JCS_CMYK : JCS_RGB;
    return true;
  }

  /// `row` has room for width x 4 bytes.
  bool read_pixels(std::uint8_t* out, std::uint8_t* row) {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_start_decompress(&codec_);
    const std::size_t stride = static_cast<std::size_t>(codec_.output_width) * 3;
    while (codec_.output_scanline < codec_.output_height) {
      std::uint8_t* target = out + codec_.output_scanline * stride;
      JSAMPROW lines[1] = {four_channels_ ? row : target};
      jpeg_read_scanlines(&codec_, lines, 1);
      if (four_channels_) cmyk_to_rgb(row, target);
    }
    // Reads up to the end marker, so a file cut off after its last pixel is noticed, too.
    jpeg_finish_decompress(&codec_);
    return true;
  }

  [[nodiscard]] int orientation() const {
    constexpr std::string_view kExif("Exif\0\0", 6);
    for (auto* marker = codec_.marker_list; marker != nullptr; marker = marker->next) {
      const std::string_view text(reinterpret_cast<const char*>(marker->data), marker->data_length);
      if (text.substr(0, kExif.size()) == kExif) {
        return exif_orientation({marker->data, marker->data_length});
      }
    }
    return 1;
  }

  [[nodiscard]] std::int64_t height() const { return codec_.image_height; }
  [[nodiscard]] std::int64_t width() const { return codec_.image_width; }
  [[nodiscard]] std::string reason() const { return errors_.text; }

 private:
  // Stored inverted (255 is no ink), as Adobe writes them; Pillow and browsers assume it, too.
  void cmyk_to_rgb(const std::uint8_t* from, std::uint8_t* to) const {
    for (unsigned x = 0; x < codec_.output_width; ++x, from += 4, to += 3) {
      for (int c = 0; c < 3; ++c) {
        to[c] = static_cast<std::uint8_t>((from[c] * from[3] + 127) / 255);
      }
    }
  }

  jpeg_decompress_struct codec_{};
  jpeg_progress_mgr progress_{};
  ErrorState errors_{};
  bool four_channels_ = false;
};

[[noreturn]] void refuse(const std::string& source, const std::string& reason) {
  throw ImageError(source, "damaged JPEG", reason, "restore or remove it");
}

}  // namespace

Image decode_jpeg(std::span<const std::uint8_t> bytes, const std::string& source,
                  const DecodeOptions& options) {
  Decoder decoder;
  if (!decoder.read_header(bytes.data(), bytes.size())) refuse(source, decoder.reason());
  // Before the pixels: finishing them frees the markers.
  const int orientation = decoder.orientation();
  check_size(decoder.height(), decoder.width(), source, options);
  Image image{decoder.height(), decoder.width(), {}};
  image.rgb.resize(static_cast<std::size_t>(image.height * image.width * 3));
  std::vector<std::uint8_t> row(static_cast<std::size_t>(image.width) * 4);
  if (!decoder.read_pixels(image.rgb.data(), row.data())) refuse(source, decoder.reason());
  return apply_orientation(std::move(image), orientation);
}

}  // namespace lockstep::data::codec
