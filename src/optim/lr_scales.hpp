#pragma once

#include <vector>

#include "lockstep/optim/optimizer.hpp"

namespace lockstep::optim {

/// The factor of each parameter: that of the longest prefix that its name begins with, else 1.
/// Throws UsageError on a prefix that counts for no parameter.
[[nodiscard]] std::vector<double> lr_scale_of_each(const std::vector<LrScale>& scales,
                                                   const std::vector<NamedParameter>& parameters);

}  // namespace lockstep::optim
