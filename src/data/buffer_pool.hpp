#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace lockstep::data {

/// Buffers of one size, handed out as shared pointers and taken back when the last copy is gone.
/// The handed-out pointers keep the pool alive, so they may outlive whoever made it. Thread-safe.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  static constexpr std::size_t kAlignment = 64;  ///< a cache line, and any vector register

  /// Keeps at most `keep` unused buffers.
  BufferPool(std::size_t bytes, std::size_t keep) : bytes_(bytes), keep_(keep) {
    idle_.reserve(keep);
  }
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool() {
    for (void* buffer : idle_) release(buffer);
  }

  [[nodiscard]] std::shared_ptr<void> acquire() {
    void* buffer = take_idle();
    if (buffer == nullptr) buffer = ::operator new (bytes_, std::align_val_t{kAlignment});
    // Should shared_ptr fail to allocate its counter, it calls the deleter: nothing leaks.
    return {buffer, [pool = shared_from_this()](void* returned) { pool->give_back(returned); }};
  }

 private:
  static void release(void* buffer) noexcept {
    ::operator delete (buffer, std::align_val_t{kAlignment});
  }

  void* take_idle() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return nullptr;
    void* buffer = idle_.back();
    idle_.pop_back();
    return buffer;
  }

  void give_back(void* buffer) noexcept {
    {
      const std::lock_guard lock(mutex_);
      if (idle_.size() < keep_) {
        idle_.push_back(buffer);
        return;
      }
    }
    release(buffer);
  }

  std::size_t bytes_;
  std::size_t keep_;
  std::mutex mutex_;
  std::vector<void*> idle_;
};

}  // namespace lockstep::data
