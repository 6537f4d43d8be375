#pragma once

#include <vector>

#include "config_file.hpp"
#include "lockstep/base/cli.hpp"

namespace lockstep {

/// Refuses, or resets and notes in `result.ignored`, the keys that were given and have no effect:
/// the rule that parse_command_line states. `assignments` lie in the order of their layers and are
/// applied already.
void drop_ineffective(const Program& program, const std::vector<Assignment>& assignments,
                      CommandLine& result);

}  // namespace lockstep
