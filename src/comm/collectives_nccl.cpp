#include "lockstep/comm/collectives_nccl.hpp"

#ifdef LOCKSTEP_WITH_CUDA

#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <sched.h>

#include <chrono>
#include <cstdlib>
#include <utility>

#include "collectives_rules.hpp"

namespace lockstep::comm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kPeersHint =
    "look at the messages of the other ranks; NCCL_DEBUG=INFO tells more";

void check_cuda(cudaError_t code, std::string_view what) {
  if (code == cudaSuccess) return;
  throw Error(std::string(what) + " failed", cudaGetErrorString(code),
              "see nvidia-smi and the messages of the other ranks");
}

ncclDataType_t nccl_type(DataType type) noexcept {
  switch (type) {
    case DataType::kFloat32:
      return ncclFloat32;
    case DataType::kFloat64:
      return ncclFloat64;
    case DataType::kInt64:
      return ncclInt64;
    case DataType::kByte:
      break;
  }
  return ncclUint8;
}

ncclRedOp_t nccl_op(ReduceOp op) noexcept { return op == ReduceOp::kSum ? ncclSum : ncclMax; }

/// A mark in the queue of a stream.
class Event {
 public:
  explicit Event(cudaStream_t stream) {
    check_cuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate");
    check_cuda(cudaEventRecord(event_, stream), "cudaEventRecord");
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&&) = delete;
  // CUDA keeps a destroyed event until the streams have passed it.
  ~Event() {
    if (event_ != nullptr) static_cast<void>(cudaEventDestroy(event_));
  }

  void block(cudaStream_t stream) const {
    check_cuda(cudaStreamWaitEvent(stream, event_, 0), "cudaStreamWaitEvent");
  }
  [[nodiscard]] bool passed() const {
    const cudaError_t code = cudaEventQuery(event_);
    if (code == cudaErrorNotReady) return false;
    check_cuda(code, "cudaEventQuery");
    return true;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// A communicator in NCCL's non-blocking mode, so that each wait can watch a deadline.
class Communicator {
 public:
  Communicator(Collectives& control, double timeout_s) : timeout_s_(timeout_s) {
    const World& world = control.world();
    ncclUniqueId id{};
    std::string failure;
    if (world.is_root()) {
      const ncclResult_t code = ncclGetUniqueId(&id);
      if (code != ncclSuccess) failure = std::string("NCCL did not start: ") + last_error(code);
    }
    all_agree(control, failure);
    control.broadcast(&id, sizeof(id), DataType::kByte, 0);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    settle(ncclCommInitRankConfig(&comm_, world.size, id, world.rank, &config),
           "creation of the NCCL communicator");
  }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  // ncclCommDestroy is a collective operation; as with MPI, the end of the process releases it.
  ~Communicator() = default;

  [[nodiscard]] ncclComm_t get() const noexcept { return comm_; }

  /// Sees a call through until NCCL has taken it over on this rank.
  void settle(ncclResult_t code, const std::string& what) const {
    const auto begin = Clock::now();
    while (code == ncclInProgress) {
      code = asynchronous_state(what);
      if (code == ncclInProgress) pause(begin, what);
    }
    check(code, what);
  }

  /// Polls `event` against the deadline and for errors that NCCL met meanwhile.
  void wait(const Event& event, const std::string& what) const {
    const auto begin = Clock::now();
    while (!event.passed()) {
      check(asynchronous_state(what), what);
      pause(begin, what);
    }
    check(asynchronous_state(what), what);
  }

  void abort() noexcept { ncclCommAbort(comm_); }

 private:
  [[nodiscard]] ncclResult_t asynchronous_state(const std::string& what) const {
    ncclResult_t state = ncclSuccess;
    check(ncclCommGetAsyncError(comm_, &state), what);
    return state;
  }

  void check(ncclResult_t code, const std::string& what) const {
    if (code == ncclSuccess || code == ncclInProgress) return;
    throw Error(what + " failed", last_error(code), kPeersHint);
  }

  [[nodiscard]] std::string last_error(ncclResult_t code) const {
    const char* details = ncclGetLastError(comm_);
    std::string text = ncclGetErrorString(code);
    if (details != nullptr && *details != '\0') text += std::string(": ") + details;
    return text;
  }

  void pause(Clock::time_point begin, const std::string& what) const {
    if (std::chrono::duration<double>(Clock::now() - begin).count() > timeout_s_) {
      throw Error(what + " did not finish within " + std::to_string(timeout_s_) + " s",
                  "another rank stopped, hangs or is much slower",
                  "look at the messages of the other ranks, or raise comm.timeout");
    }
    sched_yield();
  }

  double timeout_s_;
  ncclComm_t comm_ = nullptr;
};

class NcclWork final : public Work {
 public:
  NcclWork(const Communicator& communicator, Event done, std::string what)
      : communicator_(communicator), done_(std::move(done)), what_(std::move(what)) {}

  void wait() override {
    done_.block(c10::cuda::getCurrentCUDAStream().stream());
    communicator_.wait(done_, what_);
  }
  bool poll() override { return done_.passed(); }

 private:
  const Communicator& communicator_;
  Event done_;
  std::string what_;
};

class NcclCollectives final : public Collectives {
 public:
  NcclCollectives(Collectives& control, double timeout_s)
      : control_(control),
        communicator_(control, timeout_s),
        stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true)) {}

  [[nodiscard]] const World& world() const noexcept override { return control_.world(); }

  std::unique_ptr<Work> start_all_reduce(void* data, std::size_t count, DataType type,
                                         ReduceOp op) override {
    require_reducible(type);
    if (!is_on_device(data)) return control_.start_all_reduce(data, count, type, op);
    std::string what = label("all-reduce", count, type);
    follow_current_stream();
    communicator_.settle(ncclAllReduce(data, data, count, nccl_type(type), nccl_op(op),
                                       communicator_.get(), stream_.stream()),
                         what);
    return std::make_unique<NcclWork>(communicator_, completion(), std::move(what));
  }

  using Collectives::broadcast;
  void broadcast(void* data, std::size_t count, DataType type, int root) override {
    require_root(world(), root);
    if (!is_on_device(data)) return control_.broadcast(data, count, type, root);
    std::string what = label("broadcast", count, type);
    follow_current_stream();
    communicator_.settle(ncclBroadcast(data, data, count, nccl_type(type), root,
                                       communicator_.get(), stream_.stream()),
                         what);
    NcclWork(communicator_, completion(), std::move(what)).wait();
  }

  std::vector<std::string> all_gather(std::string_view mine) override {
    return control_.all_gather(mine);
  }

  [[noreturn]] void abort(int exit_code) override {
    communicator_.abort();
    control_.abort(exit_code);
    std::abort();  // for compilers that lose [[noreturn]] on virtual calls
  }

 private:
  static std::string label(std::string_view name, std::size_t count, DataType type) {
    return "NCCL " + std::string(name) + " of " + std::to_string(count) + " " +
           std::string(name_of(type)) + " elements";
  }

  /// Scalars of the host, such as a loss, go by `control`. The answer is the same on all ranks:
  /// they run the same program.
  static bool is_on_device(const void* data) {
    cudaPointerAttributes attributes{};
    check_cuda(cudaPointerGetAttributes(&attributes, data), "cudaPointerGetAttributes");
    return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
  }

  /// What the current stream has queued so far comes before what follows on our own stream.
  void follow_current_stream() const {
    Event(c10::cuda::getCurrentCUDAStream().stream()).block(stream_.stream());
  }

  [[nodiscard]] Event completion() const { return Event(stream_.stream()); }

  Collectives& control_;
  Communicator communicator_;
  c10::cuda::CUDAStream stream_;
};

}  // namespace

std::unique_ptr<Collectives> make_nccl_collectives(Collectives& control, double timeout_s) {
  return std::make_unique<NcclCollectives>(control, timeout_s);
}

}  // namespace lockstep::comm

#else

namespace lockstep::comm {

std::unique_ptr<Collectives> make_nccl_collectives(Collectives& /*control*/, double /*timeout_s*/) {
  throw Error("NCCL is not in this build", "it was configured without CUDA",
              "use run.device=cpu, or build with the preset cuda");
}

}  // namespace lockstep::comm

#endif
