#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/data/shard_reader.hpp"

namespace lockstep::tools {

/// What became of a sample.
struct UnpackedSample {
  std::int64_t index = 0;
  std::string file;  ///< in the output
  std::string source;
};

/// Writes samples of a set as PNG files into class folders of `output`, with a list of them, built
/// beside and put in place whole (see StagingFolder). Each is compared with its checksum. Throws
/// Error naming the sample that is damaged.
[[nodiscard]] std::vector<UnpackedSample> unpack_samples(const data::ShardSet& set,
                                                         const std::vector<std::int64_t>& indices,
                                                         const std::string& output, bool overwrite);

}  // namespace lockstep::tools
