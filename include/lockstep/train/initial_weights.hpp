#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/model/network.hpp"
#include "lockstep/train/weights_file.hpp"

namespace lockstep::train {

/// How the tensors of a file and those of a network found each other, by name.
struct WeightsMatch {
  std::vector<std::string> matched;
  /// The head: as many outputs as classes, another number in the file. Left as it was.
  std::vector<std::string> replaced;
  std::vector<std::string> missing;     ///< in the network alone
  std::vector<std::string> unexpected;  ///< in the file alone
};

/// Copies tensors of other training (torchvision's, say) into a network that is about to be
/// trained, converting dtype. A tensor of the head whose first extent alone differs, because the
/// file knows another number of classes than `classes`, stays as it was initialised; any other
/// difference of shape is an Error. `strict`: so is a name on one side alone. Counters of batches,
/// which older files lack, may be missing. On an error nothing has changed.
WeightsMatch load_weights(model::Network& network, const NamedTensors& tensors,
                          std::int64_t classes, bool strict);

/// "62 of 62 tensors taken" with what was left out, for the log.
[[nodiscard]] std::string match_text(const WeightsMatch& match);

/// The weights of a file (see read_weights), read by rank 0, which alone gets the note. Collective;
/// a failure is agreed.
[[nodiscard]] WeightsFile read_weights_everywhere(comm::Collectives& control,
                                                  const std::string& file);

}  // namespace lockstep::train
