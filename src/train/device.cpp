#include "lockstep/train/device.hpp"

#include <ATen/Context.h>
#include <ATen/Version.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "lockstep/base/check.hpp"
#include "lockstep/comm/collectives_nccl.hpp"

#ifdef LOCKSTEP_WITH_CUDA
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAFunctions.h>
#endif

namespace lockstep::train {
namespace {

/// The GPU that is this rank's. A launcher may show each rank its own GPU alone, as number 0.
struct OwnGpu {
  int index = 0;
  std::string id;       ///< differs between the GPUs of a host; empty: none
  std::string problem;  ///< why there is none
};

OwnGpu own_gpu([[maybe_unused]] const comm::World& world) {
  OwnGpu own;
#ifdef LOCKSTEP_WITH_CUDA
  // A driver that throws on one rank alone must not keep it from the collective that follows.
  try {
    const int visible = static_cast<unsigned char>(c10::cuda::device_count());  // never negative
    if (visible == 0) {
      own.problem = "sees no GPU";
      return own;
    }
    own.index = world.local_rank % visible;
    const cudaDeviceProp* properties = at::cuda::getDeviceProperties(own.index);
    own.id.assign(properties->uuid.bytes, sizeof properties->uuid.bytes);
  } catch (const std::exception& error) {
    const std::string text = error.what();
    own.problem = "cannot use its GPU: " + text.substr(0, text.find('\n'));
  }
#else
  own.problem = "runs a program that was built for the CPU";
#endif
  return own;
}

/// One rank's answer, for the others: host, GPU and problem.
std::string to_json(const comm::World& world, const OwnGpu& own) {
  std::string hex;
  for (const char byte : own.id) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned char>(byte));
    hex += digits.data();
  }
  const nlohmann::json json = {{"host", world.host}, {"gpu", hex}, {"problem", own.problem}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string gpu_shortage(const std::vector<std::string>& answers) {
  std::map<std::string, std::size_t> owners;
  for (std::size_t rank = 0; rank < answers.size(); ++rank) {
    const auto answer = nlohmann::json::parse(answers[rank]);
    const auto host = answer.at("host").get<std::string>();
    const auto problem = answer.at("problem").get<std::string>();
    const std::string who = "rank " + std::to_string(rank) + " on " + host;
    if (!problem.empty()) {
      return who + " " + problem;
    }
    const auto [owner, first] =
        owners.emplace(host + " " + answer.at("gpu").get<std::string>(), rank);
    if (!first) {
      return who + " would share its GPU with rank " + std::to_string(owner->second);
    }
  }
  return {};
}

DeviceChoice choose_device(const std::string& option, comm::Collectives& control) {
  DeviceChoice choice;
  if (option == "cpu") {
    return choice;
  }
  const OwnGpu own = own_gpu(control.world());
  choice.why_no_gpu = gpu_shortage(control.all_gather(to_json(control.world(), own)));
  comm::agreed_phase(control, [&] {
    if (!choice.why_no_gpu.empty()) {
      if (option == "cuda") {
        throw UsageError("run.device=cuda cannot be had", choice.why_no_gpu,
                         "start one rank per GPU, or set run.device=cpu");
      }
      return;
    }
    choice.device = c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(own.index));
#ifdef LOCKSTEP_WITH_CUDA
    c10::cuda::set_device(choice.device.index());
#endif
  });
  return choice;
}

void choose_kernels(const c10::Device& device, bool deterministic) {
  if (!device.is_cuda()) {
    return;
  }
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(deterministic, /*warn_only=*/false);
  context.setDeterministicCuDNN(deterministic);
  context.setBenchmarkCuDNN(!deterministic);
  if (deterministic) {
    // cuBLAS reads it when its first handle is made; what the user has set stands.
    ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  }
}

void require_equal_cpus(comm::Collectives& control) {
  const std::vector<std::string> all = control.all_gather(at::get_cpu_capability());
  const auto other = std::find_if(all.begin(), all.end(),
                                  [&](const std::string& value) { return value != all.front(); });
  if (other == all.end()) {
    return;
  }
  const Error error("the ranks compute with different instruction sets",
                    "rank 0 with " + all.front() + ", rank " + std::to_string(other - all.begin()) +
                        " with " + *other + "; their weights would part in the last bit",
                    "set ATEN_CPU_CAPABILITY to the lower one for all ranks (mpirun -x "
                    "ATEN_CPU_CAPABILITY=avx2)");
  throw comm::AgreedError(error.what(), ExitCode::kFailed, 0);
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

ThreadPlan plan_threads(std::int64_t option, comm::Collectives& control) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::string mine = control.world().host + ' ';
  int cores = 1;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) {
    cores = CPU_COUNT(&mask);
    mine.append(reinterpret_cast<const char*>(&mask), sizeof mask);
  }
  const std::vector<std::string> masks = control.all_gather(mine);
  const auto online = static_cast<std::int64_t>(sysconf(_SC_NPROCESSORS_ONLN));
  comm::agreed_phase(control, [&] {
    constexpr std::int64_t kMostPerCore = 16;
    if (option > kMostPerCore * online) {
      throw UsageError("run.threads=" + std::to_string(option) + " is out of proportion",
                       control.world().host + " has " + std::to_string(online) + " cores",
                       "leave run.threads=0 for this rank's share of them");
    }
  });
  ThreadPlan plan;
  if (option > 0) {
    plan.threads = static_cast<int>(option);
    return plan;
  }
  // At least this rank itself.
  const auto sharing = std::max(1, static_cast<int>(std::count(masks.begin(), masks.end(), mine)));
  plan.threads = std::max(1, cores / sharing);

  // OpenMPI binds up to two ranks to one core each: on a large machine the rest would lie idle, and
  // nobody would know. What the launcher itself may use is what the job was meant to have; in a
  // batch system that is its own affair.
  cpu_set_t all_ours;
  CPU_ZERO(&all_ours);
  const std::string prefix = control.world().host + ' ';
  for (const std::string& other : masks) {
    if (other.size() == prefix.size() + sizeof mask && other.starts_with(prefix)) {
      cpu_set_t theirs;
      std::memcpy(&theirs, other.data() + prefix.size(), sizeof theirs);
      CPU_OR(&all_ours, &all_ours, &theirs);
    }
  }
  cpu_set_t launchers;
  CPU_ZERO(&launchers);
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr && std::getenv("SLURM_JOB_ID") == nullptr &&
      sched_getaffinity(getppid(), sizeof launchers, &launchers) == 0 &&
      CPU_COUNT(&all_ours) < CPU_COUNT(&launchers)) {
    plan.warning =
        "the launcher binds the ranks of this host to " + std::to_string(CPU_COUNT(&all_ours)) +
        " of " + std::to_string(CPU_COUNT(&launchers)) +
        " cores - for all of them use mpirun --bind-to none, or --map-by slot:PE=n for n "
        "cores each";
  }
  return plan;
}

std::string device_text(const DeviceChoice& choice, int threads,
                        [[maybe_unused]] bool deterministic) {
  const c10::Device& device = choice.device;
#ifdef LOCKSTEP_WITH_CUDA
  if (device.is_cuda()) {
    return std::string(at::cuda::getDeviceProperties(device.index())->name) +
           (deterministic ? ", deterministic" : ", not deterministic (see run.deterministic)");
  }
#endif
  return device.str() + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads") +
         " per rank (" + at::get_cpu_capability() + ")" +
         (choice.why_no_gpu.empty() ? "" : ", no GPU: " + choice.why_no_gpu);
}

}  // namespace lockstep::train
