#pragma once

#include "lockstep/comm/collectives.hpp"
#include "lockstep/train/safetensors.hpp"

namespace lockstep::train {

/// What rank 0 holds, on the CPU and contiguous, on every rank. The others' lists must be empty.
/// Collective.
void broadcast_tensors(comm::Collectives& control, NamedTensors& tensors);

}  // namespace lockstep::train
