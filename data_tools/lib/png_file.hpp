#pragma once

#include <string>

#include "lockstep/data/image_decode.hpp"

namespace lockstep::tools {

/// Writes a picture as PNG, which keeps every pixel. Throws Error; then there is no file.
void write_png(const std::string& file, const data::Image& image);

}  // namespace lockstep::tools
