#include <mpi.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "collectives_rules.hpp"
#include "lockstep/comm/mpi_session.hpp"
#include "mpi_check.hpp"
#include "mpi_wait.hpp"

namespace lockstep::comm {
namespace {

MPI_Datatype mpi_type(DataType type) noexcept {
  switch (type) {
    case DataType::kFloat32:
      return MPI_FLOAT;
    case DataType::kFloat64:
      return MPI_DOUBLE;
    case DataType::kInt64:
      return MPI_INT64_T;
    case DataType::kByte:
      break;
  }
  return MPI_BYTE;
}

MPI_Op mpi_op(ReduceOp op) noexcept { return op == ReduceOp::kSum ? MPI_SUM : MPI_MAX; }

/// Its destructor does nothing when the operation is still under way: MPI cannot cancel a
/// collective, and waiting here could hang a rank that leaves because of an error.
class MpiWork final : public Work {
 public:
  MpiWork(std::vector<MPI_Request> requests, MpiOperation operation)
      : requests_(std::move(requests)), operation_(std::move(operation)) {}

  void wait() override { wait_all(requests_, operation_); }
  bool poll() override { return test_all(requests_, operation_); }

 private:
  std::vector<MPI_Request> requests_;
  MpiOperation operation_;
};

/// Non-blocking operations throughout, so that every wait can watch its deadline. MPI leaves the
/// order of a reduction to the library; the trees and rings of Open MPI and MPICH give all ranks
/// the same bits.
class MpiCollectives final : public Collectives {
 public:
  MpiCollectives(World world, const MpiOptions& options)
      : world_(std::move(world)),
        name_(options.name),
        timeout_s_(options.timeout_s),
        max_count_(std::min(options.max_count,
                            static_cast<std::size_t>(std::numeric_limits<int>::max()))) {
    require(max_count_ > 0, "the largest count of one MPI call is 0", "nothing could be sent",
            "give max_count at least 1");
    std::vector<MPI_Request> request(1, MPI_REQUEST_NULL);
    check_mpi(MPI_Comm_idup(MPI_COMM_WORLD, &comm_, request.data()), "MPI_Comm_idup");
    wait_all(request, operation("creation"));
    check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_set_name(comm_, name_.c_str()), "MPI_Comm_set_name");
  }

  // No destructor: MPI_Comm_free is a collective operation, and a rank that leaves because of an
  // error must not start one. MPI_Finalize releases the communicator.

  [[nodiscard]] const World& world() const noexcept override { return world_; }

  std::unique_ptr<Work> start_all_reduce(void* data, std::size_t count, DataType type,
                                         ReduceOp op) override {
    require_reducible(type);
    MpiOperation what = operation("all-reduce", count, type);
    std::vector<MPI_Request> requests;
    for_each_chunk(data, count, type, [&](void* chunk, int elements) {
      requests.push_back(MPI_REQUEST_NULL);
      check_mpi(MPI_Iallreduce(MPI_IN_PLACE, chunk, elements, mpi_type(type), mpi_op(op), comm_,
                               &requests.back()),
                what.text);
    });
    return std::make_unique<MpiWork>(std::move(requests), std::move(what));
  }

  using Collectives::broadcast;
  void broadcast(void* data, std::size_t count, DataType type, int root) override {
    require_root(world_, root);
    const MpiOperation what = operation("broadcast", count, type);
    std::vector<MPI_Request> requests;
    for_each_chunk(data, count, type, [&](void* chunk, int elements) {
      requests.push_back(MPI_REQUEST_NULL);
      check_mpi(MPI_Ibcast(chunk, elements, mpi_type(type), root, comm_, &requests.back()),
                what.text);
    });
    wait_all(requests, what);
  }

  std::vector<std::string> all_gather(std::string_view mine) override {
    const std::vector<std::int64_t> lengths =
        gather_lengths(static_cast<std::int64_t>(mine.size()));
    std::vector<std::string> all(lengths.size());
    // Rounds of at most max_count_ bytes in all keep counts and displacements within int.
    const auto share = static_cast<std::int64_t>(
        std::max<std::size_t>(max_count_ / static_cast<std::size_t>(world_.size), 1));
    const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
    for (std::int64_t begin = 0; begin < longest; begin += share) {
      gather_round(mine, lengths, begin, share, all);
    }
    return all;
  }

  [[noreturn]] void abort(int exit_code) override { MpiSession::abort(exit_code); }

 private:
  [[nodiscard]] MpiOperation operation(std::string text) const {
    return MpiOperation{std::move(text), name_, world_.rank, timeout_s_};
  }

  [[nodiscard]] MpiOperation operation(std::string_view name, std::size_t count,
                                       DataType type) const {
    return operation(std::string(name) + " of " + std::to_string(count) + " " +
                     std::string(name_of(type)) + " elements");
  }

  /// Calls send(pointer, elements) for consecutive pieces of at most max_count_ elements; once with
  /// 0 elements when there are none, so that all ranks meet whatever the count.
  template <typename Send>
  void for_each_chunk(void* data, std::size_t count, DataType type, Send&& send) const {
    auto* bytes = static_cast<std::byte*>(data);
    std::size_t done = 0;
    do {
      const std::size_t elements = std::min(max_count_, count - done);
      send(bytes == nullptr ? nullptr : bytes + done * size_of(type), static_cast<int>(elements));
      done += elements;
    } while (done < count);
  }

  std::vector<std::int64_t> gather_lengths(std::int64_t mine) const {
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(world_.size));
    const MpiOperation what = operation("all-gather of lengths");
    std::vector<MPI_Request> request(1, MPI_REQUEST_NULL);
    check_mpi(MPI_Iallgather(&mine, 1, MPI_INT64_T, lengths.data(), 1, MPI_INT64_T, comm_,
                             request.data()),
              what.text);
    wait_all(request, what);
    return lengths;
  }

  /// Appends bytes [begin, begin + share) of every rank's string.
  void gather_round(std::string_view mine, const std::vector<std::int64_t>& lengths,
                    std::int64_t begin, std::int64_t share, std::vector<std::string>& all) const {
    std::vector<int> counts(lengths.size());
    std::vector<int> places(lengths.size());
    int total = 0;
    for (std::size_t r = 0; r < lengths.size(); ++r) {
      counts[r] = static_cast<int>(std::clamp<std::int64_t>(lengths[r] - begin, 0, share));
      places[r] = total;
      total += counts[r];
    }
    std::string received(static_cast<std::size_t>(total), '\0');
    const int own = counts[static_cast<std::size_t>(world_.rank)];
    const char* source = own > 0 ? mine.data() + begin : mine.data();
    const MpiOperation what = operation("all-gather of " + std::to_string(total) + " bytes");
    std::vector<MPI_Request> request(1, MPI_REQUEST_NULL);
    check_mpi(MPI_Iallgatherv(source, own, MPI_BYTE, received.data(), counts.data(), places.data(),
                              MPI_BYTE, comm_, request.data()),
              what.text);
    wait_all(request, what);
    for (std::size_t r = 0; r < all.size(); ++r) {
      all[r].append(received, static_cast<std::size_t>(places[r]),
                    static_cast<std::size_t>(counts[r]));
    }
  }

  World world_;
  std::string name_;
  double timeout_s_;
  std::size_t max_count_;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace

std::unique_ptr<Collectives> MpiSession::make_collectives(const MpiOptions& options) {
  return std::make_unique<MpiCollectives>(world_, options);
}

}  // namespace lockstep::comm
