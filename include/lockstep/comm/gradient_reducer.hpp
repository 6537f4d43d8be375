#pragma once

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/comm/collectives.hpp"

namespace lockstep::comm {

struct BucketOptions {
  std::size_t bucket_bytes = std::size_t{25} << 20U;
  std::size_t first_bucket_bytes = std::size_t{1}
                                   << 20U;  ///< small, so that the first one leaves early
};

/// Sums gradients over all ranks during the backward pass. Parameters (those that require a
/// gradient, in the order of the network) are laid into flat buckets in reverse order; each
/// parameter's .grad() is a view of its bucket with the parameter's strides. One all-reduce per
/// bucket and update; bucket k starts only after bucket k-1. A parameter without gradient counts as
/// zero.
///
/// Per update: zero(); backward passes of all micro-batches but the last; arm(); the last backward
/// pass; finish(). A loss already divided by the update's sample count gives exact averages.
class GradientReducer {
 public:
  using NamedParameter = std::pair<std::string, at::Tensor>;

  /// All parameters on one device and of one dtype (float32 or float64). Throws Error else.
  GradientReducer(std::vector<NamedParameter> parameters, Collectives& collectives,
                  const BucketOptions& options = {});
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  /// Sets all buckets to zero; gradients stay views of them (checked: a lost view throws Error).
  void zero();
  /// From here on gradients are final: as the hooks fire, full buckets are all-reduced.
  void arm();
  /// Starts what has not started, waits for all. Afterwards .grad() holds the sum over ranks on
  /// every rank, the same bits. Throws Error naming the bucket when the transport fails.
  void finish();

  /// Euclidean norm over all gradients, accumulated in float64.
  [[nodiscard]] double norm() const;
  /// Multiplies all gradients by `factor`.
  void scale(double factor);

  [[nodiscard]] std::size_t bucket_count() const noexcept;
  /// Elements of bucket `index`.
  [[nodiscard]] std::int64_t bucket_elements(std::size_t index) const;
  /// Seconds that the last finish() spent waiting (communication not hidden behind compute).
  [[nodiscard]] double exposed_seconds() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace lockstep::comm
