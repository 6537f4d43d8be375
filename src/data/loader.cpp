#include "lockstep/data/loader.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "buffer_pool.hpp"
#include "lockstep/base/check.hpp"

namespace lockstep::data {

namespace {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept {
  return a / b + (a % b != 0 ? 1 : 0);
}

void check_options(const PictureSource& set, const std::vector<std::int64_t>& subset,
                   const Sampler& sampler, const LoaderOptions& options) {
  const auto samples = static_cast<std::int64_t>(subset.size());
  require(options.threads >= 1 && options.prefetch >= 1, "the loader cannot start",
          "it needs at least one thread and one batch of prefetch",
          "raise data.threads or data.prefetch");
  require(options.rank >= 0 && options.rank < options.size, "the loader cannot start",
          "rank " + std::to_string(options.rank) + " of " + std::to_string(options.size) +
              " does not exist",
          "report this");
  require(sampler.options().samples == samples, "the loader cannot start",
          "the sampler plans " + std::to_string(sampler.options().samples) + " samples, " +
              std::to_string(samples) + " were given",
          "report this");
  for (const std::int64_t id : subset) {
    require(id >= 0 && id < set.size(), "sample " + std::to_string(id) + " cannot be loaded",
            set.name() + " has " + std::to_string(set.size()) + " samples",
            "check that the set is the one the run began with");
  }
}

/// The most samples any batch of this rank can have (part_of rounds up by less than one).
std::int64_t largest_batch(const SamplerOptions& sampler, std::int64_t ranks) noexcept {
  const std::int64_t update = std::min(sampler.batch_size, sampler.samples);
  return ceil_div(ceil_div(update, sampler.accumulation), ranks);
}

}  // namespace

struct Loader::Impl {
  Impl(const PictureSource& shard_set, std::vector<std::int64_t> ids, const Sampler& plan,
       const LoaderOptions& loader_options);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  struct Slot {
    bool ready = false;
    Batch batch;
    std::exception_ptr error;
  };

  void work();
  /// Whether an unclaimed batch is left. Under the mutex.
  [[nodiscard]] bool work_left() const noexcept {
    return next_micro_ < plans_.size() || next_update_ < end_update_;
  }
  [[nodiscard]] MicroBatchPlan take_plan();
  void cancel_epoch(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] Batch load(const MicroBatchPlan& plan, std::int64_t epoch,
                           std::vector<std::uint8_t>& picture) const;
  [[nodiscard]] Slot& slot(std::int64_t sequence) noexcept {
    return ring_[static_cast<std::size_t>(sequence) % ring_.size()];
  }

  const PictureSource& set_;
  const std::vector<std::int64_t> subset_;
  const Sampler sampler_;
  const LoaderOptions options_;
  std::optional<Augmenter<float>> augment32_;
  std::optional<Augmenter<double>> augment64_;
  std::shared_ptr<BufferPool> pool_;

  std::mutex mutex_;                     // guards everything down to ring_
  std::condition_variable may_claim_;    // a slot is free, an epoch begins, or the end
  std::condition_variable batch_ready_;  // a slot was filled
  std::condition_variable all_idle_;     // no thread is at work
  bool stop_ = false;
  std::int64_t epoch_ = 0;
  std::int64_t next_update_ = 0;  // whose plans are not taken yet
  std::int64_t end_update_ = 0;
  std::vector<MicroBatchPlan> plans_;  // of the update being claimed
  std::size_t next_micro_ = 0;         // in plans_
  std::int64_t claimed_ = 0;           // batches of the epoch that threads took
  std::int64_t delivered_ = 0;         // batches of the epoch that next() gave out
  std::int64_t at_work_ = 0;           // threads filling a batch
  std::vector<Slot> ring_;

  std::atomic<bool> cancelled_{false};  // lets a thread leave a batch that nobody wants
  std::atomic<double> waited_{0};
  std::vector<std::thread> threads_;
};

Loader::Impl::Impl(const PictureSource& shard_set, std::vector<std::int64_t> ids,
                   const Sampler& plan, const LoaderOptions& loader_options)
    : set_(shard_set), subset_(std::move(ids)), sampler_(plan), options_(loader_options) {
  check_options(set_, subset_, sampler_, options_);
  if (options_.float64) {
    augment64_.emplace(options_.augmentation, set_.height(), set_.width(), options_.layout);
  } else {
    augment32_.emplace(options_.augmentation, set_.height(), set_.width(), options_.layout);
  }
  // Never zero bytes: an empty batch still has an address.
  const std::int64_t samples =
      std::max<std::int64_t>(1, largest_batch(sampler_.options(), options_.size));
  const std::size_t element = options_.float64 ? sizeof(double) : sizeof(float);
  const auto slots = static_cast<std::size_t>(options_.prefetch);
  // The ring, the batch in use, and the one it replaces.
  pool_ = std::make_shared<BufferPool>(
      static_cast<std::size_t>(samples * set_.sample_bytes()) * element, slots + 2);
  ring_.resize(slots);
}

Loader::Impl::~Impl() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    cancelled_ = true;
  }
  may_claim_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

MicroBatchPlan Loader::Impl::take_plan() {
  if (next_micro_ == plans_.size()) {
    // Advanced first: should plan() throw, the epoch still comes to an end.
    const std::int64_t update = next_update_++;
    plans_.clear();
    next_micro_ = 0;
    plans_ = sampler_.plan(update, options_.rank, options_.size);
  }
  return plans_[next_micro_++];
}

void Loader::Impl::work() {
  std::vector<std::uint8_t> picture;
  std::unique_lock lock(mutex_);
  while (true) {
    may_claim_.wait(lock, [this] {
      return stop_ || (work_left() && claimed_ - delivered_ < options_.prefetch);
    });
    if (stop_) return;
    // Claiming in order and delivering by sequence number is what makes the order independent of
    // the number of threads.
    Slot& target = slot(claimed_++);
    ++at_work_;
    Batch batch;
    std::exception_ptr error;
    try {
      const MicroBatchPlan plan = take_plan();
      const std::int64_t epoch = epoch_;
      lock.unlock();
      batch = load(plan, epoch, picture);
    } catch (...) {
      error = std::current_exception();
    }
    if (!lock.owns_lock()) lock.lock();
    target.batch = std::move(batch);
    target.error = std::move(error);
    target.ready = true;
    batch_ready_.notify_all();
    if (--at_work_ == 0) all_idle_.notify_all();
  }
}

Batch Loader::Impl::load(const MicroBatchPlan& plan, std::int64_t epoch,
                         std::vector<std::uint8_t>& picture) const {
  Batch batch;
  batch.plan = plan;
  batch.float64 = options_.float64;
  batch.layout = options_.layout;
  batch.height = set_.height();
  batch.width = set_.width();
  batch.storage = pool_->acquire();
  const auto count = static_cast<std::size_t>(plan.mine.size());
  batch.ids.reserve(count);
  batch.labels.reserve(count);
  batch.transforms.reserve(count);

  const std::int64_t elements = set_.sample_bytes();
  picture.resize(static_cast<std::size_t>(elements));
  const Transform unmoved = identity_transform(options_.augmentation);
  for (std::int64_t i = 0; i < plan.mine.size() && !cancelled_; ++i) {
    const std::int64_t index = sampler_.sample_at(epoch, plan.mine.begin + i);
    const std::int64_t id = subset_[static_cast<std::size_t>(index)];
    const Transform transform =
        options_.augment ? draw_transform(options_.augmentation, options_.seed, epoch, id)
                         : unmoved;
    set_.read(id, picture.data());
    if (options_.float64) {
      augment64_->apply(picture.data(), transform,
                        static_cast<double*>(batch.storage.get()) + i * elements);
    } else {
      augment32_->apply(picture.data(), transform,
                        static_cast<float*>(batch.storage.get()) + i * elements);
    }
    batch.ids.push_back(id);
    batch.labels.push_back(set_.labels()[static_cast<std::size_t>(id)]);
    batch.transforms.push_back(transform);
  }
  return batch;
}

void Loader::Impl::cancel_epoch(std::unique_lock<std::mutex>& lock) {
  end_update_ = next_update_;
  plans_.clear();
  next_micro_ = 0;
  cancelled_ = true;
  all_idle_.wait(lock, [this] { return at_work_ == 0; });
  cancelled_ = false;
  for (Slot& filled : ring_) filled = Slot{};
  claimed_ = 0;
  delivered_ = 0;
}

Loader::Loader(const PictureSource& set, std::vector<std::int64_t> subset, const Sampler& sampler,
               const LoaderOptions& options)
    : impl_(std::make_unique<Impl>(set, std::move(subset), sampler, options)) {
  // Not in Impl's constructor: if a thread cannot be made, ~Impl ends those that exist.
  impl_->threads_.reserve(static_cast<std::size_t>(options.threads));
  for (std::int64_t i = 0; i < options.threads; ++i) {
    impl_->threads_.emplace_back([impl = impl_.get()] { impl->work(); });
  }
}

Loader::~Loader() = default;

void Loader::start_epoch(std::int64_t epoch, std::int64_t first_update, std::int64_t end_update) {
  const std::int64_t updates = impl_->sampler_.updates_per_epoch();
  require(first_update >= 0 && first_update <= end_update && end_update <= updates,
          "updates " + std::to_string(first_update) + " to " + std::to_string(end_update) +
              " cannot be loaded",
          "an epoch has " + std::to_string(updates) + " updates", "report this");
  {
    std::unique_lock lock(impl_->mutex_);
    impl_->cancel_epoch(lock);
    impl_->epoch_ = epoch;
    impl_->next_update_ = first_update;
    impl_->end_update_ = end_update;
    impl_->waited_ = 0;
  }
  impl_->may_claim_.notify_all();
}

bool Loader::next(Batch& batch) {
  Batch delivered;
  {
    std::unique_lock lock(impl_->mutex_);
    if (impl_->delivered_ == impl_->claimed_ && !impl_->work_left()) return false;
    Impl::Slot& slot = impl_->slot(impl_->delivered_);
    if (!slot.ready) {
      const auto begin = std::chrono::steady_clock::now();
      impl_->batch_ready_.wait(lock, [&slot] { return slot.ready; });
      const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
      impl_->waited_ = impl_->waited_ + waited.count();
    }
    // The slot stays as it is: going on after an error would skip samples without a word.
    if (slot.error) std::rethrow_exception(slot.error);
    delivered = std::move(slot.batch);
    slot = Impl::Slot{};
    ++impl_->delivered_;
  }
  impl_->may_claim_.notify_one();
  batch = std::move(delivered);
  return true;
}

double Loader::waited_seconds() const noexcept { return impl_->waited_; }

}  // namespace lockstep::data
