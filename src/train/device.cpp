#include "lockstep/train/device.hpp"

#include <ATen/Version.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "lockstep/base/check.hpp"
#include "lockstep/comm/collectives_nccl.hpp"

#ifdef LOCKSTEP_WITH_CUDA
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAFunctions.h>
#endif

namespace lockstep::train {
namespace {

int gpu_count() {
#ifdef LOCKSTEP_WITH_CUDA
  return c10::cuda::device_count();
#else
  return 0;
#endif
}

}  // namespace

c10::Device select_device(const std::string& option, const comm::World& world) {
  const int gpus = option == "cpu" ? 0 : gpu_count();
  if (option == "cuda" && gpus < world.local_size) {
#ifdef LOCKSTEP_WITH_CUDA
    const std::string why = world.host + " has " + std::to_string(gpus) + " GPUs for " +
                            std::to_string(world.local_size) + " ranks";
#else
    const std::string why = "this program was built for the CPU";
#endif
    throw UsageError("run.device=cuda cannot be had", why,
                     "start one rank per GPU, or set run.device=cpu");
  }
  if (gpus < world.local_size || gpus == 0) {
    return {c10::kCPU};
  }
#ifdef LOCKSTEP_WITH_CUDA
  c10::cuda::set_device(static_cast<c10::DeviceIndex>(world.local_rank));
#endif
  return {c10::kCUDA, static_cast<c10::DeviceIndex>(world.local_rank)};
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
