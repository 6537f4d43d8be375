#include "lockstep/report/metrics.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <clocale>
#include <csignal>
#include <cstdlib>
#include <limits>

#include "lockstep/base/check.hpp"
#include "temp_folder.hpp"

namespace lockstep::report {
namespace {

EpochRecord make_record() {
  EpochRecord record;
  record.epoch = 3;
  record.updates = 1056;
  record.train_loss = 0.1 + 0.2;  // 0.30000000000000004
  record.train_top1 = 2.0 / 3.0;
  record.val = Scores{1.0 / 3.0, 4321, 4998, 5000};
  record.learning_rate = 1e-7;
  record.grad_norm = 12345.678901234567;
  record.best = true;
  record.train_seconds = 61.25;
  record.eval_seconds = 2.5;
  record.images_per_second = 734.5;
  record.data_wait_seconds = 0.125;
  record.exposed_comm_seconds = 0.0625;
  record.rss_mib = 812.5;
  record.peak_mib = 1024.25;
  return record;
}

TEST(Scores, AreShares) {
  EXPECT_EQ((Scores{0, 1, 3, 4}).top1(), 0.25);
  EXPECT_EQ((Scores{0, 1, 3, 4}).top5(), 0.75);
  EXPECT_EQ(Scores{}.top1(), 0);
  EXPECT_EQ(Scores{}.top5(), 0);
}

TEST(MetricsWriter, WritesEveryValueSoThatItReadsBackTheSame) {
  const TempFolder folder;
  MetricsWriter writer(folder.path());
  const EpochRecord record = make_record();
  writer.write(record);
  // The writer still lives: rows must be there at once.
  const auto lines = split(read_file(folder / "metrics.csv"), '\n');
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0],
            "epoch,updates,train_loss,train_top1,val_loss,val_top1,val_top5,val_samples,lr,"
            "grad_norm,best");
  const auto fields = split(lines[1], ',');
  ASSERT_EQ(fields.size(), 11U);
  const auto number = [&](std::size_t i) { return std::strtod(fields[i].c_str(), nullptr); };
  EXPECT_EQ(fields[0], "3");
  EXPECT_EQ(fields[1], "1056");
  EXPECT_EQ(number(2), record.train_loss);
  EXPECT_EQ(number(3), record.train_top1);
  EXPECT_EQ(number(4), record.val->loss);
  EXPECT_EQ(number(5), 4321.0 / 5000.0);
  EXPECT_EQ(number(6), 4998.0 / 5000.0);
  EXPECT_EQ(fields[7], "5000");
  EXPECT_EQ(number(8), record.learning_rate);
  EXPECT_EQ(number(9), record.grad_norm);
  EXPECT_EQ(fields[10], "1");

  EXPECT_EQ(read_file(folder / "timings.csv"),
            "epoch,train_seconds,eval_seconds,images_per_second,data_wait_seconds,"
            "exposed_comm_seconds,rss_mib,peak_mib\n"
            "3,61.25,2.5,734.5,0.125,0.0625,812.5,1024.25\n");
}

TEST(MetricsWriter, LeavesValidationEmptyWithoutOneAndKeepsNan) {
  const TempFolder folder;
  MetricsWriter writer(folder.path());
  EpochRecord record;
  record.epoch = 1;
  record.train_loss = std::numeric_limits<double>::quiet_NaN();
  writer.write(record);
  EXPECT_EQ(split(read_file(folder / "metrics.csv"), '\n')[1], "1,0,nan,0,,,,,0,0,0");
}

TEST(MetricsWriter, EqualRunsMakeEqualMetricsWhateverTheClock) {
  const TempFolder a;
  const TempFolder b;
  EpochRecord record = make_record();
  MetricsWriter(a.path()).write(record);
  record.train_seconds *= 2;
  record.images_per_second /= 2;
  record.rss_mib += 1;
  MetricsWriter(b.path()).write(record);
  EXPECT_EQ(read_file(a / "metrics.csv"), read_file(b / "metrics.csv"));
  EXPECT_NE(read_file(a / "timings.csv"), read_file(b / "timings.csv"));
}

/// The first fields of the lines of a file.
std::vector<std::string> first_fields(const std::string& file) {
  std::vector<std::string> fields;
  for (const std::string& line : split(read_file(file), '\n')) {
    fields.push_back(line.substr(0, line.find(',')));
  }
  return fields;
}

TEST(MetricsWriter, ARunThatGoesOnKeepsTheRowsOfItsEpochsAndNoOther) {
  const TempFolder folder;
  {
    MetricsWriter writer(folder.path());
    for (std::int64_t epoch = 1; epoch <= 12; ++epoch) {
      EpochRecord record = make_record();
      record.epoch = epoch;
      writer.write(record);
    }
  }
  std::ofstream(folder / "metrics.csv", std::ios::app) << "13,99,0.";  // a line that was cut
  const std::string before = read_file(folder / "metrics.csv");
  EpochRecord next = make_record();
  next.epoch = 11;
  MetricsWriter(folder.path(), 10).write(next);
  using Fields = std::vector<std::string>;
  const Fields expected{"epoch", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", ""};
  EXPECT_EQ(first_fields(folder / "metrics.csv"), expected);
  EXPECT_EQ(first_fields(folder / "timings.csv"), expected);
  EXPECT_TRUE(before.starts_with(read_file(folder / "metrics.csv"))) << "a kept row has changed";

  MetricsWriter{folder.path()};  // begins again
  EXPECT_EQ(first_fields(folder / "metrics.csv"), (Fields{"epoch", ""}));
}

template <typename Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(MetricsWriter, RefusesToGoOnUnderOtherColumns) {
  const TempFolder folder;
  std::ofstream(folder / "metrics.csv") << "epoch,loss\n1,2\n";
  EXPECT_NE(error_of([&] { MetricsWriter writer(folder.path(), 1); }).find("its columns are not"),
            std::string::npos);
  EXPECT_EQ(read_file(folder / "metrics.csv"), "epoch,loss\n1,2\n");
}

TEST(MetricsWriter, NamesAFileThatCannotBeWritten) {
  const TempFolder folder;
  const std::string missing = folder / "no";
  EXPECT_NE(error_of([&] { MetricsWriter writer(missing); }).find(missing + "/metrics.csv"),
            std::string::npos);
  std::filesystem::create_symlink("/dev/full", folder / "timings.csv");
  const std::string error = error_of([&] { MetricsWriter writer(folder.path()); });
  EXPECT_NE(error.find("timings.csv cannot be written (No space left on device)"),
            std::string::npos)
      << error;
}

TEST(MetricsWriter, ADiskThatFillsUpIsAnErrorAndLeavesNoHalfRow) {
  const TempFolder folder;
  const std::string file = folder / "metrics.csv";
  MetricsWriter writer(folder.path());
  writer.write(make_record());
  const std::string before = read_file(file);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit limit {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  struct rlimit small = limit;
  small.rlim_cur = before.size() + 10;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string error = error_of([&] { writer.write(make_record()); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(error.find(file + " cannot be written (File too large)"), std::string::npos) << error;
  EXPECT_EQ(read_file(file), before);
  writer.write(make_record());
  EXPECT_EQ(split(read_file(file), '\n').size(), 4U);
}

}  // namespace
}  // namespace lockstep::report
