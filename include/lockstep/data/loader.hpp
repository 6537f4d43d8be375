#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "lockstep/data/augment.hpp"
#include "lockstep/data/picture_source.hpp"
#include "lockstep/data/sampler.hpp"

namespace lockstep::data {

/// This rank's samples of one micro-batch. Pictures lie in a buffer that goes back to the loader
/// when the last copy of `storage` is gone.
struct Batch {
  MicroBatchPlan plan;
  std::vector<std::int64_t> ids;  ///< sample ids in the set
  std::vector<std::int64_t> labels;
  std::vector<Transform> transforms;  ///< what augmentation did to each
  std::shared_ptr<void> storage;      ///< float or double [n, 3, H, W] in `layout`; may hold n = 0
  bool float64 = false;
  Layout layout = Layout::kChannelsLast;
  std::int64_t height = 0;
  std::int64_t width = 0;

  [[nodiscard]] std::int64_t size() const noexcept { return static_cast<std::int64_t>(ids.size()); }
};

struct LoaderOptions {
  std::int64_t threads = 1;   ///< at least 1
  std::int64_t prefetch = 4;  ///< batches held ready or in work, at least 1
  std::uint64_t seed = 0;
  bool augment = true;  ///< false: identity transforms (evaluation)
  bool float64 = false;
  Layout layout = Layout::kChannelsLast;
  AugmentOptions augmentation;
  std::int64_t rank = 0;
  std::int64_t size = 1;
};

/// Delivers the batches of epochs in order from a bounded ring filled by threads. What is delivered
/// does not depend on the number of threads. An error of a thread is thrown by the next() that
/// would have delivered its batch.
class Loader {
 public:
  /// `set` must outlive the loader; `subset[i]` is the sample id of index i of the sampler.
  Loader(const PictureSource& set, std::vector<std::int64_t> subset, const Sampler& sampler,
         const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// Starts delivering `epoch` from its update `first_update` up to the update before `end_update`;
  /// drops what was under way.
  void start_epoch(std::int64_t epoch, std::int64_t first_update, std::int64_t end_update);
  /// The next batch of the epoch; false when the epoch is over.
  [[nodiscard]] bool next(Batch& batch);
  /// Seconds next() has waited since start_epoch.
  [[nodiscard]] double waited_seconds() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::data
