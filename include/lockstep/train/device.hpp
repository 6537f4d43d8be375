#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <string>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/comm/mpi_session.hpp"

namespace lockstep::train {

/// The device of this rank for run.device: "auto" takes a GPU when this build has CUDA and every
/// rank has one of its own, else the CPU on all ranks; "cuda" insists and throws UsageError, on all
/// ranks, else. Sets the current device. Collective.
[[nodiscard]] c10::Device select_device(const std::string& option, comm::Collectives& control);

/// The communicators of a training run. On a GPU gradients and SyncBatchNorm share one NCCL
/// communicator, in program order; on CPUs each has its own over MPI.
struct TrainingCollectives {
  std::unique_ptr<comm::Collectives> gradients;
  std::unique_ptr<comm::Collectives> own_batch_norm;  // empty when shared
  [[nodiscard]] comm::Collectives& batch_norm() const {
    return own_batch_norm ? *own_batch_norm : *gradients;
  }
};
[[nodiscard]] TrainingCollectives make_training_collectives(const c10::Device& device,
                                                            comm::MpiSession& session,
                                                            comm::Collectives& control,
                                                            double timeout_s);

/// Threads for this rank's compute: `option`, or, when 0, the cores of its affinity mask divided by
/// the ranks of this host that have the same mask. Collective.
[[nodiscard]] int compute_threads(std::int64_t option, comm::Collectives& control);

/// "cpu, 2 threads (AVX2)" or the name of the GPU, for the log.
[[nodiscard]] std::string device_text(const c10::Device& device, int threads);

}  // namespace lockstep::train
