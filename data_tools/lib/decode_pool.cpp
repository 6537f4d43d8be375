#include "lib/decode_pool.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "lockstep/base/check.hpp"
#include "lockstep/base/system.hpp"

namespace lockstep::tools {
namespace {

constexpr std::size_t kSlots = 256;                 // decoded pictures waiting for their turn
constexpr std::size_t kWaitingBytes = 128U << 20U;  // of those pictures
constexpr std::int64_t kLargestFile = 1LL << 30U;   // a picture file beyond this is no picture

[[noreturn]] void unreadable(const std::string& path, const std::string& why) {
  throw data::ImageError(path, "unreadable file", why, "check its rights, or remove it");
}

std::vector<std::uint8_t> read_bytes(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) unreadable(path, errno_text());
  struct Closer {
    int descriptor;
    ~Closer() { ::close(descriptor); }
  } closer{descriptor};
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) unreadable(path, errno_text());
  if (status.st_size > kLargestFile) unreadable(path, "it is larger than 1 GiB");
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(status.st_size));
  const std::int64_t n = read_at(descriptor, bytes.data(), bytes.size(), 0);
  if (n < 0) unreadable(path, errno_text());
  if (n < status.st_size) unreadable(path, "it became shorter while it was read");
  return bytes;
}

}  // namespace

DecodePool::DecodePool(const PackOptions& options, const std::vector<FoundFile>& files)
    : options_(options),
      files_(files),
      order_(derive_key(options.seed, Stream::kPacking), files.size()),
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
  ready_.wait(lock, [&] { return slot.ready; });
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
  while (true) {
    std::size_t position = 0;
    {
      std::unique_lock lock(mutex_);
      room_.wait(lock, [&] { return stop_ || claimed_ == files_.size() || may_claim(); });
      if (stop_ || claimed_ == files_.size()) return;
      position = claimed_++;
    }
    Decoded decoded;
    try {
      decoded = decode(file(position));
    } catch (...) {
      decoded.error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    waiting_bytes_ += decoded.image.rgb.size();
    slots_[position % slots_.size()] = {true, std::move(decoded)};
    if (position == taken_) ready_.notify_one();
  }
}

Decoded DecodePool::decode(const FoundFile& found) const {
  const std::string path = options_.root + "/" + found.path;
  data::DecodeOptions decoding;
  decoding.background = options_.background;
  Decoded decoded;
  decoded.image = data::decode_image(read_bytes(path), path, decoding);
  if (options_.size) {
    decoded.image = data::fit_image(decoded.image, {(*options_.size)[0], (*options_.size)[1],
                                                    options_.fit, options_.background});
  }
  decoded.digest = data::digest_sample(decoded.image.rgb);
  return decoded;
}

}  // namespace lockstep::tools
