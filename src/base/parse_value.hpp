#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

/// As parse_int, for the whole range of an unsigned 64-bit integer. Throws UsageError naming
/// `what`.
[[nodiscard]] std::uint64_t parse_unsigned(const std::string& text, const std::string& what);

/// Numbers separated by commas or white space; the empty text is the empty list. Throws UsageError.
[[nodiscard]] std::vector<double> parse_list(const std::string& text, const std::string& what);

}  // namespace lockstep
