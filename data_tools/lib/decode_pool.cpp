#include "lib/decode_pool.hpp"

#include <algorithm>
#include <chrono>

#include "lib/stop.hpp"

namespace lockstep::tools {
namespace {

constexpr std::size_t kSlots = 256;                 // decoded pictures waiting for their turn
constexpr std::size_t kWaitingBytes = 128U << 20U;  // of those pictures

}  // namespace

DecodePool::DecodePool(const PackOptions& options, const SampleSource& source)
    : options_(options),
      source_(source),
      order_(derive_key(options.seed, Stream::kPacking), source.samples.size()),
      slots_(std::max(kSlots, 2 * static_cast<std::size_t>(options.threads))) {
  for (std::int64_t i = 0; i < options.threads; ++i) {
    threads_.emplace_back([this] { work(); });
  }
}

DecodePool::~DecodePool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  room_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

Decoded DecodePool::take() {
  std::unique_lock lock(mutex_);
  Slot& slot = slots_[taken_ % slots_.size()];
  constexpr std::chrono::milliseconds kLook{200};  // for a signal that asks to stop
  while (!ready_.wait_for(lock, kLook, [&] { return slot.ready; })) throw_if_stopped();
  Decoded decoded = std::move(slot.decoded);
  slot = Slot();
  waiting_bytes_ -= decoded.image.rgb.size();
  ++taken_;
  lock.unlock();
  room_.notify_all();
  return decoded;
}

bool DecodePool::may_claim() const {
  const bool next = claimed_ == taken_;
  return next || (claimed_ < taken_ + slots_.size() && waiting_bytes_ < kWaitingBytes);
}

void DecodePool::work() {
  const std::size_t count = source_.samples.size();
  while (true) {
    std::size_t position = 0;
    {
      std::unique_lock lock(mutex_);
      room_.wait(lock, [&] { return stop_ || claimed_ == count || may_claim(); });
      if (stop_ || claimed_ == count) return;
      position = claimed_++;
    }
    Decoded decoded;
    try {
      decoded = decode(sample(position));
    } catch (...) {
      decoded.error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    waiting_bytes_ += decoded.image.rgb.size();
    slots_[position % slots_.size()] = {true, std::move(decoded)};
    if (position == taken_) ready_.notify_one();
  }
}

Decoded DecodePool::decode(const Sample& sample) const {
  Decoded decoded;
  decoded.image = source_.decode(sample);
  if (options_.size) {
    decoded.image = data::fit_image(decoded.image, {(*options_.size)[0], (*options_.size)[1],
                                                    options_.fit, options_.background});
  }
  decoded.digest = data::digest_sample(decoded.image.rgb);
  return decoded;
}

}  // namespace lockstep::tools
