#pragma once

#include <cstdint>
#include <string>

#include "lockstep/data/shard_reader.hpp"

namespace lockstep::tools {

/// Writes a PNG of the first `count` samples of a set in rows of eight, each with its class name
/// under it. Small pictures are enlarged by a whole factor, large ones shrunk. Throws Error.
void write_contact_sheet(const data::ShardSet& set, std::int64_t count, const std::string& file);

}  // namespace lockstep::tools
