#include "lockstep/train/device.hpp"

#include <ATen/Version.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "lockstep/base/check.hpp"
#include "lockstep/comm/collectives_nccl.hpp"

#ifdef LOCKSTEP_WITH_CUDA
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAFunctions.h>
#endif

namespace lockstep::train {
namespace {

/// The GPU that is this rank's: its index, and a text that differs between the GPUs of a host
/// (empty when there is none). A launcher may show each rank its own GPU alone, as number 0.
struct OwnGpu {
  int index = 0;
  std::string id;
};

OwnGpu own_gpu(const comm::World& world) {
  OwnGpu own;
#ifdef LOCKSTEP_WITH_CUDA
  if (const int visible = c10::cuda::device_count(); visible > 0) {
    own.index = world.local_rank % visible;
    const cudaDeviceProp* properties = at::cuda::getDeviceProperties(own.index);
    own.id.assign(properties->uuid.bytes, sizeof properties->uuid.bytes);
  }
#else
  static_cast<void>(world);
#endif
  return own;
}

/// Why not every rank has a GPU of its own; empty when each has one. `gpus`: the host and GPU of
/// each rank.
std::string gpu_shortage(const std::vector<std::string>& gpus) {
#ifndef LOCKSTEP_WITH_CUDA
  static_cast<void>(gpus);
  return "this program was built for the CPU";
#else
  for (auto gpu = gpus.begin(); gpu != gpus.end(); ++gpu) {
    const std::string rank = "rank " + std::to_string(gpu - gpus.begin());
    const std::string host = gpu->substr(0, gpu->find('\n'));
    if (gpu->size() == host.size() + 1) {
      return rank + " on " + host + " sees no GPU";
    }
    if (const auto same = std::find(gpus.begin(), gpu, *gpu); same != gpu) {
      return rank + " on " + host + " would share its GPU with rank " +
             std::to_string(same - gpus.begin());
    }
  }
  return {};
#endif
}

}  // namespace

c10::Device select_device(const std::string& option, comm::Collectives& control) {
  if (option == "cpu") {
    return {c10::kCPU};
  }
  const comm::World& world = control.world();
  const OwnGpu own = own_gpu(world);
  const std::string shortage = gpu_shortage(control.all_gather(world.host + '\n' + own.id));
  if (!shortage.empty()) {
    if (option == "cuda") {
      throw UsageError("run.device=cuda cannot be had", shortage,
                       "start one rank per GPU, or set run.device=cpu");
    }
    return {c10::kCPU};
  }
#ifdef LOCKSTEP_WITH_CUDA
  c10::cuda::set_device(static_cast<c10::DeviceIndex>(own.index));
#endif
  return {c10::kCUDA, static_cast<c10::DeviceIndex>(own.index)};
}

TrainingCollectives make_training_collectives(const c10::Device& device, comm::MpiSession& session,
                                              comm::Collectives& control, double timeout_s) {
  TrainingCollectives made;
  if (device.is_cuda()) {
    made.gradients = comm::make_nccl_collectives(control, timeout_s);
    return made;
  }
  comm::MpiOptions options;
  options.timeout_s = timeout_s;
  options.name = "gradients";
  made.gradients = session.make_collectives(options);
  options.name = "batch_norm";
  made.own_batch_norm = session.make_collectives(options);
  return made;
}

int compute_threads(std::int64_t option, comm::Collectives& control) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::string mine = control.world().host + ' ';
  int cores = 1;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) {
    cores = CPU_COUNT(&mask);
    mine.append(reinterpret_cast<const char*>(&mask), sizeof mask);
  }
  const std::vector<std::string> masks = control.all_gather(mine);
  if (option > 0) {
    return static_cast<int>(option);
  }
  const auto sharing = static_cast<int>(std::count(masks.begin(), masks.end(), mine));
  return std::max(1, cores / sharing);
}

std::string device_text(const c10::Device& device, int threads) {
#ifdef LOCKSTEP_WITH_CUDA
  if (device.is_cuda()) {
    return std::string(at::cuda::getDeviceProperties(device.index())->name);
  }
#endif
  return device.str() + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads") +
         " per rank (" + at::get_cpu_capability() + ")";
}

}  // namespace lockstep::train
