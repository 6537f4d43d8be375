#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "lib/sample_source.hpp"
#include "lib/scan.hpp"

namespace lockstep::tools {

/// Whether a name ends as those of pictures do (.jpg, .PNG, .webp, ...).
[[nodiscard]] bool has_picture_suffix(const std::string& name);

/// Reads and decodes the files that a scan found. `background` is what transparent pixels show.
[[nodiscard]] std::function<data::Image(const Sample&)> picture_decoder(
    const ScanResult& scan, const std::array<std::uint8_t, 3>& background);

}  // namespace lockstep::tools
