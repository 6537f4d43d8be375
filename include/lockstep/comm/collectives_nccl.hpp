#pragma once

#include <memory>

#include "lockstep/comm/collectives.hpp"

namespace lockstep::comm {

/// Collectives over NCCL for buffers on the current CUDA device, on the current stream; `control`
/// carries the rendezvous and the byte operations. Built only with CUDA; elsewhere throws Error.
[[nodiscard]] std::unique_ptr<Collectives> make_nccl_collectives(Collectives& control,
                                                                 double timeout_s);

}  // namespace lockstep::comm
