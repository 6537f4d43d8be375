#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

using Bytes = std::vector<std::uint8_t>;

/// Reads a regular file of at most `limit` bytes into `bytes`. The reason when that cannot be done,
/// else "".
[[nodiscard]] std::string read_whole_file(const std::string& path, std::int64_t limit,
                                          Bytes& bytes);

}  // namespace lockstep
