#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "lib/pack.hpp"
#include "lib/sample_source.hpp"
#include "lockstep/base/seed.hpp"
#include "lockstep/data/image_decode.hpp"
#include "lockstep/data/shard_writer.hpp"

namespace lockstep::tools {

/// A decoded picture, or why there is none.
struct Decoded {
  data::Image image;
  data::SampleDigest digest;
  std::exception_ptr error;
};

/// Decodes and resizes the samples of a source on threads and hands them over in shuffled order,
/// one by one. Pictures that wait for their turn are bounded in number and, but for the next one,
/// in bytes.
class DecodePool {
 public:
  /// Both must outlive the pool.
  DecodePool(const PackOptions& options, const SampleSource& source);
  ~DecodePool();
  DecodePool(const DecodePool&) = delete;
  DecodePool& operator=(const DecodePool&) = delete;

  /// The sample at a position of the shuffled order.
  [[nodiscard]] const Sample& sample(std::size_t position) const {
    return source_.samples[order_(position)];
  }
  /// The picture at the next position; at most source.samples.size() times.
  [[nodiscard]] Decoded take();

 private:
  struct Slot {
    bool ready = false;
    Decoded decoded;
  };
  void work();
  [[nodiscard]] Decoded decode(const Sample& sample) const;
  [[nodiscard]] bool may_claim() const;

  const PackOptions& options_;
  const SampleSource& source_;
  Permutation order_;
  std::mutex mutex_;
  std::condition_variable room_;   // for the threads
  std::condition_variable ready_;  // for take()
  std::vector<Slot> slots_;        // a ring by position
  std::size_t claimed_ = 0;
  std::size_t taken_ = 0;
  std::size_t waiting_bytes_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace lockstep::tools
