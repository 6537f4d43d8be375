#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace lockstep::report {

/// Scores of one set of pictures.
struct Scores {
  double loss = 0;  ///< mean cross-entropy, no label smoothing
  std::int64_t correct1 = 0;
  std::int64_t correct5 = 0;
  std::int64_t samples = 0;  ///< the denominator
  [[nodiscard]] double top1() const noexcept {
    return samples > 0 ? static_cast<double>(correct1) / static_cast<double>(samples) : 0;
  }
  [[nodiscard]] double top5() const noexcept {
    return samples > 0 ? static_cast<double>(correct5) / static_cast<double>(samples) : 0;
  }
};

/// What one epoch came to.
struct EpochRecord {
  std::int64_t epoch = 0;    ///< counted from 1
  std::int64_t updates = 0;  ///< of the run, at the end of the epoch
  double train_loss = 0;     ///< mean over the epoch's samples, as trained (with smoothing)
  double train_top1 = 0;
  std::optional<Scores> val;
  double learning_rate = 0;     ///< of the last update
  double grad_norm = 0;         ///< mean over the updates, before clipping
  std::int64_t low_norms = 0;   ///< updates whose gradient norm raised the low alarm
  std::int64_t high_norms = 0;  ///< updates whose gradient norm raised the high alarm
  bool best = false;
  // timings.csv
  double train_seconds = 0;
  double eval_seconds = 0;
  double images_per_second = 0;
  double data_wait_seconds = 0;
  double exposed_comm_seconds = 0;
  double rss_mib = 0;   ///< resident memory after the epoch, of the rank that holds most
  double peak_mib = 0;  ///< highest resident memory so far, of the rank that held most
};

/// metrics.csv (equal for equal runs) and timings.csv (clock and memory) of a run folder. Every row
/// is on the disk when write() returns. Throws Error when writing fails (disk full).
class MetricsWriter {
 public:
  /// Of rows that are there already those of the first `epochs` epochs stay: a run that goes on
  /// writes the later ones again. Throws Error when a file has other columns.
  explicit MetricsWriter(const std::string& run_folder, std::int64_t epochs = 0);
  ~MetricsWriter();
  MetricsWriter(const MetricsWriter&) = delete;
  MetricsWriter& operator=(const MetricsWriter&) = delete;
  void write(const EpochRecord& record);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::report
