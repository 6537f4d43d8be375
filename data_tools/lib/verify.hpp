#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/data/shard_reader.hpp"

namespace lockstep::tools {

/// Reads every sample and every file of a set and compares them with what was stored: CRC-32 of
/// each sample, digest of each shard, channel mean and standard deviation. The faults found, each
/// naming its shard and sample; empty when all is well.
[[nodiscard]] std::vector<std::string> verify_set(const data::ShardSet& set);

}  // namespace lockstep::tools
