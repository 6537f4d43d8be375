#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/comm/collectives.hpp"
#include "lockstep/comm/mpi_session.hpp"

namespace lockstep::train {

/// Where this rank computes.
struct DeviceChoice {
  c10::Device device{c10::kCPU};
  std::string why_no_gpu;  ///< for the log: why "auto" took the CPU; empty on a GPU
};

/// The device of this rank for run.device: "auto" takes a GPU when this build has CUDA and every
/// rank has one of its own, else the CPU on all ranks; "cuda" insists, and a lack is an
/// AgreedError. Sets the current device. Collective.
[[nodiscard]] DeviceChoice choose_device(const std::string& option, comm::Collectives& control);

/// Why not every rank has a GPU of its own, from the ranks' answers in rank order (JSON: host, gpu,
/// problem); empty when each has one. Pure.
[[nodiscard]] std::string gpu_shortage(const std::vector<std::string>& answers);

/// How the operations of a GPU are chosen: with `deterministic` those that give the same bits each
/// time (an operation that has no such kernel becomes an Error), else the fastest for each shape,
/// found by trial. Changes nothing on a CPU, where every operation is deterministic. Before the
/// first operation on the device.
void choose_kernels(const c10::Device& device, bool deterministic);

/// For a run on CPUs: throws AgreedError when ranks use different instruction sets. Their
/// optimizers would round differently, and the weights part. Collective.
void require_equal_cpus(comm::Collectives& control);

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

struct ThreadPlan {
  int threads = 1;      ///< for this rank's compute
  std::string warning;  ///< when most cores of this host would lie idle; else empty
};

/// Threads for this rank's compute: `option`, or, when 0, the cores of its affinity mask divided by
/// the ranks of this host that have the same mask. Collective.
[[nodiscard]] ThreadPlan plan_threads(std::int64_t option, comm::Collectives& control);

/// "cpu, 2 threads per rank (AVX2)" or the name of the GPU and how its operations are chosen, for
/// the log.
[[nodiscard]] std::string device_text(const DeviceChoice& choice, int threads, bool deterministic);

}  // namespace lockstep::train
