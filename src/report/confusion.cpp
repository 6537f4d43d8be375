#include "lockstep/report/confusion.hpp"

#include <array>
#include <cstdio>
#include <numeric>

#include "csv_row.hpp"

namespace lockstep::report {

namespace {

std::optional<double> ratio(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::int64_t ConfusionMatrix::samples() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
}

std::int64_t ConfusionMatrix::correct() const {
  std::int64_t sum = 0;
  for (std::int64_t k = 0; k < classes_; ++k) sum += at(k, k);
  return sum;
}

std::vector<ClassScores> class_scores(const ConfusionMatrix& matrix) {
  std::vector<ClassScores> scores;
  for (std::int64_t k = 0; k < matrix.classes(); ++k) {
    std::int64_t samples = 0;
    std::int64_t taken = 0;
    for (std::int64_t other = 0; other < matrix.classes(); ++other) {
      samples += matrix.at(k, other);
      taken += matrix.at(other, k);
    }
    const std::int64_t correct = matrix.at(k, k);
    scores.push_back({samples, ratio(correct, taken), ratio(correct, samples),
                      ratio(2 * correct, samples + taken)});
  }
  return scores;
}

MacroAverage macro_average(const std::vector<ClassScores>& scores) {
  MacroAverage sum;
  for (const ClassScores& each : scores) {
    if (each.samples == 0) continue;
    ++sum.classes;
    sum.precision += each.precision.value_or(0);
    sum.recall += each.recall.value_or(0);
    sum.f1 += each.f1.value_or(0);
  }
  if (sum.classes == 0) return sum;
  const auto count = static_cast<double>(sum.classes);
  return {sum.classes, sum.precision / count, sum.recall / count, sum.f1 / count};
}

std::string confusion_csv(const ConfusionMatrix& matrix, const std::vector<std::string>& classes) {
  CsvRow header;
  header << std::string("true class");
  for (const std::string& name : classes) header << name;
  std::string text = header.text() + "\n";
  for (std::int64_t truth = 0; truth < matrix.classes(); ++truth) {
    CsvRow row;
    row << classes[static_cast<std::size_t>(truth)];
    for (std::int64_t k = 0; k < matrix.classes(); ++k) row << matrix.at(truth, k);
    text += row.text() + "\n";
  }
  return text;
}

std::string per_class_csv(const std::vector<ClassScores>& scores,
                          const std::vector<std::string>& classes) {
  std::string text = "class,samples,precision,recall,f1\n";
  for (std::size_t i = 0; i < scores.size(); ++i) {
    CsvRow row;
    row << classes[i] << scores[i].samples << scores[i].precision << scores[i].recall
        << scores[i].f1;
    text += row.text() + "\n";
  }
  return text;
}

std::string macro_text(const MacroAverage& average) {
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(),
                "macro average over %lld %s: precision %.2f %%  recall %.2f %%  F1 %.2f %%",
                static_cast<long long>(average.classes), average.classes == 1 ? "class" : "classes",
                100 * average.precision, 100 * average.recall, 100 * average.f1);
  return text.data();
}

}  // namespace lockstep::report
