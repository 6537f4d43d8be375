#include "lib/png_file.hpp"

#include <png.h>

#include <cerrno>
#include <cstring>

#include "lockstep/base/check.hpp"

namespace lockstep::tools {

void write_png(const std::string& file, const data::Image& image) {
  png_image png;
  std::memset(&png, 0, sizeof png);
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = PNG_FORMAT_RGB;
  errno = 0;
  const bool written =
      png_image_write_to_file(&png, file.c_str(), 0, image.rgb.data(), 0, nullptr) != 0;
  // libpng says why in its own words, and when the system refused a write, nothing but that.
  const bool refused = errno != 0 && std::strcmp(png.message, "Write Error") == 0;
  require(written, "cannot write '" + file + "'",
          refused ? errno_text() : static_cast<const char*>(png.message),
          "give a folder that can be written, and free space");
}

}  // namespace lockstep::tools
