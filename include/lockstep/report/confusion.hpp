#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::report {

/// How many samples of one class were taken for another. 8 bytes for each pair of classes.
class ConfusionMatrix {
 public:
  explicit ConfusionMatrix(std::int64_t classes)
      : classes_(classes), counts_(static_cast<std::size_t>(classes * classes)) {}

  [[nodiscard]] std::int64_t classes() const noexcept { return classes_; }
  void add(std::int64_t truth, std::int64_t predicted) { ++counts_[place(truth, predicted)]; }
  [[nodiscard]] std::int64_t at(std::int64_t truth, std::int64_t predicted) const {
    return counts_[place(truth, predicted)];
  }
  [[nodiscard]] std::int64_t samples() const;
  /// Samples taken for what they are: the diagonal.
  [[nodiscard]] std::int64_t correct() const;
  /// All counts, a row for each true class, to be summed over ranks in place.
  [[nodiscard]] std::vector<std::int64_t>& counts() noexcept { return counts_; }

 private:
  [[nodiscard]] std::size_t place(std::int64_t truth, std::int64_t predicted) const {
    return static_cast<std::size_t>(truth * classes_ + predicted);
  }

  std::int64_t classes_;
  std::vector<std::int64_t> counts_;
};

/// Scores of one class, in [0, 1]; nothing where the denominator is 0.
struct ClassScores {
  std::int64_t samples = 0;         ///< of the class, in the set
  std::optional<double> precision;  ///< correct / samples taken for the class
  std::optional<double> recall;     ///< correct / samples of the class
  std::optional<double> f1;         ///< 2 correct / (samples of the class + taken for it)
};

/// Means over the classes that have samples, each class weighing the same. A class that nothing was
/// taken for counts with precision 0.
struct MacroAverage {
  std::int64_t classes = 0;  ///< those that have samples
  double precision = 0;
  double recall = 0;
  double f1 = 0;
};

[[nodiscard]] std::vector<ClassScores> class_scores(const ConfusionMatrix& matrix);
[[nodiscard]] MacroAverage macro_average(const std::vector<ClassScores>& scores);

/// CSV: a row for each true class, a column for each predicted one, headed by their names.
[[nodiscard]] std::string confusion_csv(const ConfusionMatrix& matrix,
                                        const std::vector<std::string>& classes);
/// CSV: class, samples, precision, recall, f1; fields without a value are empty.
[[nodiscard]] std::string per_class_csv(const std::vector<ClassScores>& scores,
                                        const std::vector<std::string>& classes);
/// "macro average over 10 classes: precision 81.20 %  recall 80.00 %  F1 80.10 %".
[[nodiscard]] std::string macro_text(const MacroAverage& average);

}  // namespace lockstep::report
