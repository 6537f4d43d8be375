#pragma once

#include "lib/command_line.hpp"
#include "lib/pack.hpp"

namespace lockstep::tools {

/// Whether pictures may have transparent pixels, which show the background.
enum class Transparency { kPossible, kNone };

/// The options that all tools share which make sets: --size, --fit, --background, --shard-size,
/// --shards, --threads, --seed, --overwrite.
void add_pack_options(CommandLine& line);
/// Throws UsageError, also for an option that has no effect.
[[nodiscard]] PackOptions read_pack_options(const CommandLine& line, Transparency transparency);

}  // namespace lockstep::tools
