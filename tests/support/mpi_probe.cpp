// A PMPI library, preloaded under a program that uses MPI. It records every collective operation
// that a rank starts, can make ranks late at random, and can damage one result on one rank.
//
//   LOCKSTEP_PROBE_DIR=folder      rank<r>.tsv there, one line for each operation in program order:
//                                  communicator, operation, count, datatype, reduction
//   LOCKSTEP_PROBE_DELAY_US=n      sleeps 0 to n microseconds before each one (seeded by the rank)
//   LOCKSTEP_PROBE_FLIP=r:comm:n   on rank r the first element of the result of reduction n (from
//   0)
//                                  on the communicator of that name is off by one

#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace {

struct Reduction {
  void* result = nullptr;
  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

std::string text_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

std::string name_of(MPI_Comm comm) {
  std::array<char, MPI_MAX_OBJECT_NAME> name{};
  int length = 0;
  PMPI_Comm_get_name(comm, name.data(), &length);
  return {name.data(), static_cast<std::size_t>(length)};
}

std::string name_of(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) return "-";
  std::array<char, MPI_MAX_OBJECT_NAME> name{};
  int length = 0;
  PMPI_Type_get_name(type, name.data(), &length);
  return {name.data(), static_cast<std::size_t>(length)};
}

std::string name_of(MPI_Op op) {
  if (op == MPI_OP_NULL) return "-";
  if (op == MPI_SUM) return "MPI_SUM";
  if (op == MPI_MAX) return "MPI_MAX";
  if (op == MPI_MIN) return "MPI_MIN";
  return "other";
}

class Probe {
 public:
  Probe() {
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    random_.seed(static_cast<unsigned>(rank_) + 1);
    const std::string folder = text_of("LOCKSTEP_PROBE_DIR");
    if (!folder.empty()) {
      const std::string path = folder + "/rank" + std::to_string(rank_) + ".tsv";
      file_.reset(std::fopen(path.c_str(), "w"));
      if (!file_) std::fprintf(stderr, "mpi_probe: cannot write %s\n", path.c_str());
    }
    delay_us_ = static_cast<unsigned>(
        std::strtoul(text_of("LOCKSTEP_PROBE_DELAY_US").c_str(), nullptr, 10));
    read_flip(text_of("LOCKSTEP_PROBE_FLIP"));
  }

  /// Before every operation.
  void record(MPI_Comm comm, const char* operation, long count, MPI_Datatype type, MPI_Op op) {
    unsigned delay = 0;
    {
      const std::lock_guard lock(mutex_);
      write(name_of(comm) + "\t" + operation + "\t" + std::to_string(count) + "\t" + name_of(type) +
            "\t" + name_of(op));
      if (delay_us_ > 0) delay = std::uniform_int_distribution<unsigned>(0, delay_us_)(random_);
    }
    if (delay > 0) usleep(delay);
  }

  /// True when this reduction is the one to damage.
  bool is_target(MPI_Comm comm) {
    const std::lock_guard lock(mutex_);
    return rank_ == flip_rank_ && name_of(comm) == flip_comm_ && seen_++ == flip_index_;
  }

  void expect(MPI_Request request, const Reduction& reduction) {
    const std::lock_guard lock(mutex_);
    awaited_ = request;
    target_ = reduction;
  }

  /// After a test or wait that completed `requests` (their values from before the call).
  void completed(const std::vector<MPI_Request>& requests) {
    const std::lock_guard lock(mutex_);
    for (const MPI_Request request : requests) {
      if (request == MPI_REQUEST_NULL || request != awaited_) continue;
      awaited_ = MPI_REQUEST_NULL;
      damage(target_);
    }
  }

  void damage(const Reduction& reduction) {
    if (reduction.count == 0) return;
    if (reduction.type == MPI_FLOAT) *static_cast<float*>(reduction.result) += 1;
    if (reduction.type == MPI_DOUBLE) *static_cast<double*>(reduction.result) += 1;
    if (reduction.type == MPI_INT64_T) *static_cast<std::int64_t*>(reduction.result) += 1;
    if (reduction.type == MPI_UINT8_T) *static_cast<std::uint8_t*>(reduction.result) ^= 1U;
    write("# one element is off by one");
  }

 private:
  void write(const std::string& line) {
    if (!file_) return;
    std::fprintf(file_.get(), "%s\n", line.c_str());
    std::fflush(file_.get());  // a rank may be killed at any moment
  }

  void read_flip(const std::string& text) {
    const std::size_t first = text.find(':');
    const std::size_t last = text.rfind(':');
    if (first == std::string::npos || first == last) return;
    flip_rank_ = std::atoi(text.substr(0, first).c_str());
    flip_comm_ = text.substr(first + 1, last - first - 1);
    flip_index_ = std::atol(text.substr(last + 1).c_str());
  }

  std::mutex mutex_;
  std::unique_ptr<std::FILE, Close> file_;
  std::minstd_rand random_;
  int rank_ = 0;
  unsigned delay_us_ = 0;
  int flip_rank_ = -1;
  std::string flip_comm_;
  long flip_index_ = 0;
  long seen_ = 0;
  MPI_Request awaited_ = MPI_REQUEST_NULL;
  Reduction target_;
};

/// Made at the first operation, when MPI is up.
Probe& probe() {
  static Probe the_probe;
  return the_probe;
}

}  // namespace

extern "C" {

// ---- reductions whose result can be damaged

int MPI_Allreduce(const void* send, void* result, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  probe().record(comm, "Allreduce", count, type, op);
  const bool target = probe().is_target(comm);
  const int code = PMPI_Allreduce(send, result, count, type, op, comm);
  if (target) probe().damage({result, count, type});
  return code;
}

int MPI_Iallreduce(const void* send, void* result, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  probe().record(comm, "Iallreduce", count, type, op);
  const bool target = probe().is_target(comm);
  const int code = PMPI_Iallreduce(send, result, count, type, op, comm, request);
  if (target) probe().expect(*request, {result, count, type});
  return code;
}

// ---- completions

int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
  const std::vector<MPI_Request> before{*request};
  const int code = PMPI_Test(request, done, status);
  if (code == MPI_SUCCESS && *done != 0) probe().completed(before);
  return code;
}

int MPI_Testall(int count, MPI_Request* requests, int* done, MPI_Status* statuses) {
  const std::vector<MPI_Request> before(requests, requests + count);
  const int code = PMPI_Testall(count, requests, done, statuses);
  if (code == MPI_SUCCESS && *done != 0) probe().completed(before);
  return code;
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  const std::vector<MPI_Request> before{*request};
  const int code = PMPI_Wait(request, status);
  if (code == MPI_SUCCESS) probe().completed(before);
  return code;
}

int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  const std::vector<MPI_Request> before(requests, requests + count);
  const int code = PMPI_Waitall(count, requests, statuses);
  if (code == MPI_SUCCESS) probe().completed(before);
  return code;
}

// ---- all other collectives: recorded, delayed, passed on

#define LOCKSTEP_PROBED(name, count, type, op, parameters, arguments) \
  int MPI_##name parameters {                                         \
    probe().record(comm, #name, count, type, op);                     \
    return PMPI_##name arguments;                                     \
  }

// clang-format off
LOCKSTEP_PROBED(Barrier, 0, MPI_DATATYPE_NULL, MPI_OP_NULL, (MPI_Comm comm), (comm))
LOCKSTEP_PROBED(Ibarrier, 0, MPI_DATATYPE_NULL, MPI_OP_NULL,
                (MPI_Comm comm, MPI_Request* request), (comm, request))
LOCKSTEP_PROBED(Bcast, n, t, MPI_OP_NULL,
                (void* data, int n, MPI_Datatype t, int root, MPI_Comm comm),
                (data, n, t, root, comm))
LOCKSTEP_PROBED(Ibcast, n, t, MPI_OP_NULL,
                (void* data, int n, MPI_Datatype t, int root, MPI_Comm comm, MPI_Request* request),
                (data, n, t, root, comm, request))
LOCKSTEP_PROBED(Reduce, n, t, op,
                (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm),
                (s, r, n, t, op, root, comm))
LOCKSTEP_PROBED(Ireduce, n, t, op,
                (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm,
                 MPI_Request* request),
                (s, r, n, t, op, root, comm, request))
LOCKSTEP_PROBED(Allgather, n, t, MPI_OP_NULL,
                (const void* s, int sn, MPI_Datatype st, void* r, int n, MPI_Datatype t,
                 MPI_Comm comm),
                (s, sn, st, r, n, t, comm))
LOCKSTEP_PROBED(Iallgather, n, t, MPI_OP_NULL,
                (const void* s, int sn, MPI_Datatype st, void* r, int n, MPI_Datatype t,
                 MPI_Comm comm, MPI_Request* request),
                (s, sn, st, r, n, t, comm, request))
// The counts of the ranks differ; all of them see the count of rank 0.
LOCKSTEP_PROBED(Allgatherv, n[0], t, MPI_OP_NULL,
                (const void* s, int sn, MPI_Datatype st, void* r, const int* n, const int* places,
                 MPI_Datatype t, MPI_Comm comm),
                (s, sn, st, r, n, places, t, comm))
LOCKSTEP_PROBED(Iallgatherv, n[0], t, MPI_OP_NULL,
                (const void* s, int sn, MPI_Datatype st, void* r, const int* n, const int* places,
                 MPI_Datatype t, MPI_Comm comm, MPI_Request* request),
                (s, sn, st, r, n, places, t, comm, request))
LOCKSTEP_PROBED(Gather, n, t, MPI_OP_NULL,
                (const void* s, int n, MPI_Datatype t, void* r, int rn, MPI_Datatype rt, int root,
                 MPI_Comm comm),
                (s, n, t, r, rn, rt, root, comm))
LOCKSTEP_PROBED(Scatter, n, t, MPI_OP_NULL,
                (const void* s, int sn, MPI_Datatype st, void* r, int n, MPI_Datatype t, int root,
                 MPI_Comm comm),
                (s, sn, st, r, n, t, root, comm))
LOCKSTEP_PROBED(Alltoall, n, t, MPI_OP_NULL,
                (const void* s, int sn, MPI_Datatype st, void* r, int n, MPI_Datatype t,
                 MPI_Comm comm),
                (s, sn, st, r, n, t, comm))
LOCKSTEP_PROBED(Reduce_scatter_block, n, t, op,
                (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),
                (s, r, n, t, op, comm))
LOCKSTEP_PROBED(Scan, n, t, op,
                (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),
                (s, r, n, t, op, comm))
LOCKSTEP_PROBED(Exscan, n, t, op,
                (const void* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),
                (s, r, n, t, op, comm))
LOCKSTEP_PROBED(Comm_dup, 0, MPI_DATATYPE_NULL, MPI_OP_NULL,
                (MPI_Comm comm, MPI_Comm* copy), (comm, copy))
LOCKSTEP_PROBED(Comm_idup, 0, MPI_DATATYPE_NULL, MPI_OP_NULL,
                (MPI_Comm comm, MPI_Comm* copy, MPI_Request* request), (comm, copy, request))
LOCKSTEP_PROBED(Comm_split, 0, MPI_DATATYPE_NULL, MPI_OP_NULL,
                (MPI_Comm comm, int color, int key, MPI_Comm* part), (comm, color, key, part))
LOCKSTEP_PROBED(Comm_split_type, 0, MPI_DATATYPE_NULL, MPI_OP_NULL,
                (MPI_Comm comm, int kind, int key, MPI_Info info, MPI_Comm* part),
                (comm, kind, key, info, part))
// clang-format on

}  // extern "C"
