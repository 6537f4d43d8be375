#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lockstep::report {

/// What is said of one picture.
struct PredictionRow {
  std::string path;
  std::string label;  ///< its true class; empty: not known
  struct Guess {
    std::string name;  ///< of the class
    double probability = 0;
  };
  std::vector<Guess> top;  ///< the most probable first
};

enum class PredictionFormat { kTable, kCsv, kJson };
/// "table", "csv", "json"; throws UsageError on another word.
[[nodiscard]] PredictionFormat prediction_format(const std::string& word);

/// Writes predictions, row by row. CSV: path,label,class_1,probability_1,... up to `k`. JSON: a
/// list of {"path", "label", "top": [{"class", "probability"}]}; the label is null when it is not
/// known. Throws Error when writing fails.
class PredictionWriter {
 public:
  /// To the standard output, or to `file` (not empty), which is there once close() has returned;
  /// until then what was there is untouched. A device or a pipe is written to as it is.
  PredictionWriter(PredictionFormat format, const std::string& file, std::int64_t k);
  ~PredictionWriter();
  PredictionWriter(const PredictionWriter&) = delete;
  PredictionWriter& operator=(const PredictionWriter&) = delete;
  void write(const PredictionRow& row);
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::report
