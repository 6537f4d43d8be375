#pragma once

#include <string>
#include <vector>

#include "lockstep/base/config.hpp"
#include "lockstep/base/program.hpp"

namespace lockstep {

/// How the configuration of a run differs from that of the checkpoint it goes on from; each change
/// as "train.epochs 10 -> 20", in the order of the help.
struct ConfigChanges {
  std::vector<std::string> free;     ///< change nothing that the run learns
  std::vector<std::string> warned;   ///< from here on it is another run than it was
  std::vector<std::string> refused;  ///< what was saved does not fit any more
};

/// `inside_epoch`: the checkpoint was saved inside an epoch, where the order of its samples cannot
/// change.
[[nodiscard]] ConfigChanges compare_configs(const RunConfig& saved, const RunConfig& now,
                                            bool inside_epoch);

/// Reads back what to_text() has written. `name` stands for the text in errors. Throws UsageError.
[[nodiscard]] RunConfig config_from_text(const std::string& text, const std::string& name,
                                         const Program& program);

}  // namespace lockstep
