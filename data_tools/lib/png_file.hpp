#pragma once

#include <string>

#include "lockstep/data/image_decode.hpp"

namespace lockstep::tools {

/// Writes a picture as PNG, which keeps every pixel, to a file that is not there yet. Throws Error;
/// then there is no file.
void write_png(const std::string& file, const data::Image& image);

/// As write_png; what was there stays until the new file is whole. Only regular files are replaced.
void replace_png(const std::string& file, const data::Image& image);

}  // namespace lockstep::tools
