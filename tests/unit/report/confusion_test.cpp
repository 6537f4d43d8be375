#include "lockstep/report/confusion.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "report/csv_row.hpp"

namespace lockstep::report {
namespace {

/// Four classes: the third is never predicted, the fourth neither, and has no samples.
ConfusionMatrix example() {
  ConfusionMatrix matrix(4);
  const std::vector<std::vector<std::int64_t>> rows{
      {6, 2, 0, 0}, {1, 3, 0, 0}, {1, 3, 0, 0}, {0, 0, 0, 0}};
  for (std::int64_t truth = 0; truth < 4; ++truth) {
    for (std::int64_t k = 0; k < 4; ++k) {
      const auto count = rows[static_cast<std::size_t>(truth)][static_cast<std::size_t>(k)];
      for (std::int64_t n = 0; n < count; ++n) matrix.add(truth, k);
    }
  }
  return matrix;
}

TEST(ConfusionMatrix, CountsRowsOfTrueClasses) {
  ConfusionMatrix matrix = example();
  EXPECT_EQ(matrix.classes(), 4);
  EXPECT_EQ(matrix.at(0, 1), 2);
  EXPECT_EQ(matrix.at(1, 0), 1);
  EXPECT_EQ(matrix.samples(), 16);
  EXPECT_EQ(matrix.correct(), 9);
  // As a sum over ranks adds to it.
  matrix.counts()[4] += 10;
  EXPECT_EQ(matrix.at(1, 0), 11);
  EXPECT_EQ(ConfusionMatrix(3).samples(), 0);
}

// More than 2^32, and more than a double counts by ones.
TEST(ConfusionMatrix, CountsAreWholeNumbers) {
  ConfusionMatrix matrix(1);
  matrix.counts()[0] = (std::int64_t{1} << 53) + 1;
  matrix.add(0, 0);
  EXPECT_EQ(matrix.samples(), (std::int64_t{1} << 53) + 2);
  EXPECT_EQ(confusion_csv(matrix, {"a"}), "true class,a\na,9007199254740994\n");
}

TEST(ClassScores, AreTheTextbooks) {
  const std::vector<ClassScores> scores = class_scores(example());
  ASSERT_EQ(scores.size(), 4U);
  EXPECT_EQ(scores[0].samples, 8);
  EXPECT_EQ(scores[0].precision, 6.0 / 8);
  EXPECT_EQ(scores[0].recall, 6.0 / 8);
  EXPECT_EQ(scores[0].f1, 12.0 / 16);
  EXPECT_EQ(scores[1].precision, 3.0 / 8);
  EXPECT_EQ(scores[1].recall, 3.0 / 4);
  EXPECT_EQ(scores[1].f1, 0.5) << "the harmonic mean of 3/8 and 3/4";
  EXPECT_EQ(scores[2].samples, 4);
  EXPECT_FALSE(scores[2].precision.has_value()) << "nothing was taken for it";
  EXPECT_EQ(scores[2].recall, 0.0);
  EXPECT_EQ(scores[2].f1, 0.0);
  EXPECT_EQ(scores[3].samples, 0);
  EXPECT_FALSE(scores[3].precision || scores[3].recall || scores[3].f1);

  ConfusionMatrix matrix(2);
  matrix.add(0, 1);
  const ClassScores only_taken = class_scores(matrix)[1];
  EXPECT_EQ(only_taken.precision, 0.0);
  EXPECT_FALSE(only_taken.recall.has_value());
  EXPECT_EQ(only_taken.f1, 0.0);
}

TEST(MacroAverage, IsOverTheClassesThatHaveSamples) {
  const MacroAverage average = macro_average(class_scores(example()));
  EXPECT_EQ(average.classes, 3);
  EXPECT_DOUBLE_EQ(average.precision, (0.75 + 0.375 + 0) / 3);
  EXPECT_DOUBLE_EQ(average.recall, (0.75 + 0.75 + 0) / 3);
  EXPECT_DOUBLE_EQ(average.f1, (0.75 + 0.5 + 0) / 3);
  EXPECT_EQ(macro_text(average),
            "macro average over 3 classes: precision 37.50 %  recall 50.00 %  F1 41.67 %");

  const MacroAverage none = macro_average(class_scores(ConfusionMatrix(2)));
  EXPECT_EQ(none.classes, 0);
  EXPECT_EQ(none.f1, 0);
  ConfusionMatrix one(1);
  one.add(0, 0);
  EXPECT_EQ(macro_text(macro_average(class_scores(one))),
            "macro average over 1 class: precision 100.00 %  recall 100.00 %  F1 100.00 %");
}

TEST(ConfusionCsv, IsHeadedByNamesOnBothSides) {
  EXPECT_EQ(confusion_csv(example(), {"cat", "dog", "owl", "yak"}),
            "true class,cat,dog,owl,yak\n"
            "cat,6,2,0,0\n"
            "dog,1,3,0,0\n"
            "owl,1,3,0,0\n"
            "yak,0,0,0,0\n");
}

TEST(PerClassCsv, LeavesEmptyWhatHasNoValue) {
  EXPECT_EQ(per_class_csv(class_scores(example()), {"cat", "dog", "owl", "yak"}),
            "class,samples,precision,recall,f1\n"
            "cat,8,0.75,0.75,0.75\n"
            "dog,4,0.375,0.75,0.5\n"
            "owl,4,,0,0\n"
            "yak,0,,,\n");
}

TEST(ConfusionCsv, NamesAreQuotedWhereTheyMustBe) {
  ConfusionMatrix matrix(4);
  matrix.add(0, 0);
  const std::vector<std::string> names{"cat, small", "the \"dog\"", "two\nlines",
                                       "\xC3\xA9t\xC3\xA9"};
  EXPECT_EQ(per_class_csv(class_scores(matrix), names),
            "class,samples,precision,recall,f1\n"
            "\"cat, small\",1,1,1,1\n"
            "\"the \"\"dog\"\"\",0,,,\n"
            "\"two\nlines\",0,,,\n"
            "\xC3\xA9t\xC3\xA9,0,,,\n");
  const std::string header =
      "true class,\"cat, small\",\"the \"\"dog\"\"\",\"two\nlines\",\xC3\xA9t\xC3\xA9\n";
  EXPECT_TRUE(confusion_csv(matrix, names).starts_with(header)) << confusion_csv(matrix, names);
}

TEST(CsvRow, KeepsWhatNeedsNoQuotes) {
  CsvRow row;
  row << std::string() << std::string(" a b ") << std::string("it's") << 3 << 0.1
      << std::optional<double>() << std::string("\r");
  EXPECT_EQ(row.text(), ", a b ,it's,3,0.1,,\"\r\"");
}

}  // namespace
}  // namespace lockstep::report
