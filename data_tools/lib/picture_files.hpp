#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "lib/sample_source.hpp"
#include "lib/scan.hpp"

namespace lockstep::tools {

/// Reads and decodes the files that a scan found. `background` is what transparent pixels show.
[[nodiscard]] std::function<data::Image(const Sample&)> picture_decoder(
    const ScanResult& scan, const std::array<std::uint8_t, 3>& background);

}  // namespace lockstep::tools
