#include "lib/png_file.hpp"

#include <fcntl.h>
#include <png.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "lockstep/base/check.hpp"
#include "lockstep/base/durable_file.hpp"
#include "lockstep/base/system.hpp"

namespace lockstep::tools {
namespace {

constexpr const char* kHint = "give a folder that can be written, and free space";

std::string encode_png(const std::string& file, const data::Image& image) {
  png_image png;
  std::memset(&png, 0, sizeof png);
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = PNG_FORMAT_RGB;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(png);  // then what it has taken
  std::string encoded(bytes, '\0');
  const bool done =
      png_image_write_to_memory(&png, encoded.data(), &bytes, 0, image.rgb.data(), 0, nullptr) != 0;
  require(done, "cannot write '" + file + "'", static_cast<const char*>(png.message), kHint);
  encoded.resize(bytes);
  return encoded;
}

}  // namespace

void write_png(const std::string& file, const data::Image& image) {
  const std::string bytes = encode_png(file, image);
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  const bool written = descriptor >= 0 && write_at(descriptor, bytes.data(), bytes.size(), 0);
  const std::string why = written ? "" : errno_text();
  const bool closed = descriptor < 0 || ::close(descriptor) == 0;
  if (descriptor >= 0 && !written) ::unlink(file.c_str());
  require(written, "cannot write '" + file + "'", why, kHint);
  require(closed, "cannot write '" + file + "'", errno_text(), kHint);
}

void replace_png(const std::string& file, const data::Image& image) {
  std::error_code error;
  const auto kind = std::filesystem::status(file, error);
  require(!std::filesystem::exists(kind) || std::filesystem::is_regular_file(kind),
          "cannot write '" + file + "'", "it exists and is not a regular file",
          "give another name");
  replace_durable(file, encode_png(file, image));
}

}  // namespace lockstep::tools
