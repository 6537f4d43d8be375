#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/base/check.hpp"
#include "lockstep/comm/world.hpp"

namespace lockstep::comm {

enum class DataType { kFloat32, kFloat64, kInt64, kByte };
enum class ReduceOp { kSum, kMax };

[[nodiscard]] std::size_t size_of(DataType type) noexcept;

/// A collective under way. The buffer must live and stay untouched until wait() returned.
class Work {
 public:
  virtual ~Work() = default;
  /// Blocks until done (on a device: until the current stream is ordered behind it); throws Error
  /// when the deadline passes. Must be called exactly once.
  virtual void wait() = 0;
  /// Gives the transport a chance to move on; true when done. Never blocks.
  virtual bool poll() = 0;
};

/// The collective operations of one communicator, on raw contiguous buffers. Every rank calls the
/// same operations in the same order with the same counts. Errors of the transport and waits beyond
/// the deadline throw Error naming the operation.
class Collectives {
 public:
  virtual ~Collectives() = default;

  [[nodiscard]] virtual const World& world() const noexcept = 0;

  /// In place: element i becomes the sum or maximum of the ranks' elements i. Every rank gets the
  /// same bits. kByte cannot be reduced. count 0 is a valid call.
  virtual std::unique_ptr<Work> start_all_reduce(void* data, std::size_t count, DataType type,
                                                 ReduceOp op) = 0;
  /// `count` elements from `root` to all ranks, in place.
  virtual void broadcast(void* data, std::size_t count, DataType type, int root) = 0;
  /// The byte strings of all ranks, in rank order, on every rank (lengths may differ).
  virtual std::vector<std::string> all_gather(std::string_view mine) = 0;
  /// Ends the job on all ranks at once with this exit code. Does not return.
  [[noreturn]] virtual void abort(int exit_code) = 0;

  void all_reduce(void* data, std::size_t count, DataType type, ReduceOp op) {
    start_all_reduce(data, count, type, op)->wait();
  }
  [[nodiscard]] double sum(double value);
  [[nodiscard]] std::int64_t sum(std::int64_t value);
  [[nodiscard]] std::int64_t max(std::int64_t value);
  void sum(std::vector<double>& values);
  /// root's value on all ranks.
  [[nodiscard]] double broadcast(double value, int root = 0);
  [[nodiscard]] std::string broadcast(std::string value, int root = 0);
};

/// The null communicator: one rank, every operation is the identity.
[[nodiscard]] std::unique_ptr<Collectives> make_serial_collectives();

/// An error all ranks know of. Its message was agreed; only `speaker` prints it, everyone leaves in
/// order with code().
class AgreedError : public Error {
 public:
  AgreedError(const std::string& message, ExitCode code, int speaker)
      : Error(message, code), speaker_(speaker) {}
  [[nodiscard]] int speaker() const noexcept { return speaker_; }

 private:
  int speaker_;
};

/// The end of a start-up phase. `failure` is empty when this rank's phase went well, else its
/// message. All ranks call it; when any failed, all throw AgreedError with the message of the
/// lowest failing rank and its exit code.
void all_agree(Collectives& control, const std::string& failure, ExitCode code = ExitCode::kFailed);

/// Runs `phase` on this rank and agrees on the outcome (see all_agree). The phase holds no
/// collective: a rank that fails before it would leave the others waiting in it. An AgreedError
/// from inside passes unchanged: all ranks have it already.
template <typename Phase>
void agreed_phase(Collectives& control, Phase&& phase) {
  constexpr std::string_view kNameless = "a failure without a message";
  std::string failure;
  ExitCode code = ExitCode::kFailed;
  try {
    phase();
  } catch (const AgreedError&) {
    throw;
  } catch (const Error& error) {
    failure = error.what();
    code = error.code();
    if (failure.empty()) failure = kNameless;
  } catch (const std::exception& error) {
    failure = message_of(error);
    if (failure.empty()) failure = kNameless;
  }
  all_agree(control, failure, code);
}

/// Throws AgreedError naming the first rank whose value differs from rank 0's ("rank 2 differs from
/// rank 0 in <what>"). Habit 9: config hash, parameter shapes, shard manifest, parameter digests.
void require_same(Collectives& control, const std::string& mine, const std::string& what);

}  // namespace lockstep::comm
