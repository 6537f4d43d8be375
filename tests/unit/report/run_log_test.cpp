#include "lockstep/report/run_log.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <thread>

#include "lockstep/base/check.hpp"
#include "posix_regex.hpp"
#include "temp_folder.hpp"

namespace lockstep::report {
namespace {

struct Output {
  std::string out;
  std::string err;
};

template <typename Action>
Output captured(const Action& action) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  action();
  Output output;
  output.out = testing::internal::GetCapturedStdout();
  output.err = testing::internal::GetCapturedStderr();
  return output;
}

/// The lines without their time, which is checked for its form.
std::vector<std::string> without_times(const std::string& text) {
  const std::string pattern =
      "[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3} (.*)";
  std::vector<std::string> lines = split(text, '\n');
  EXPECT_EQ(lines.back(), "") << "the last line is not complete";
  lines.pop_back();
  for (std::string& line : lines) {
    const auto groups = match(line, pattern);
    EXPECT_FALSE(groups.empty()) << line;
    if (!groups.empty()) line = groups[1];
  }
  return lines;
}

using Lines = std::vector<std::string>;

void write_all_levels(RunLog& log) {
  log.debug("data", "a {} debug");  // braces are no format
  log.info("train", "an info");
  log.warning("comm", "a warning");
  log.error("main", "an error");
}

TEST(RunLog, SendsLevelsToTheirStreamAndEverythingToTheFile) {
  const TempFolder folder;
  const std::string file = folder / "train.log";
  const Output output = captured([&] {
    RunLog log(0, Level::kDebug);
    log.info("main", "before the file");
    log.add_file(file);
    write_all_levels(log);
  });
  EXPECT_EQ(without_times(output.out), (Lines{"info  main  before the file",
                                              "debug  data  a {} debug", "info  train  an info"}));
  EXPECT_EQ(without_times(output.err),
            (Lines{"warning  comm  a warning", "error  main  an error"}));
  EXPECT_EQ(without_times(read_file(file)),
            (Lines{"debug  data  a {} debug", "info  train  an info", "warning  comm  a warning",
                   "error  main  an error"}));
}

TEST(RunLog, LeavesOutWhatIsBelowItsLevel) {
  const std::vector<Level> levels = {Level::kDebug, Level::kInfo, Level::kWarning, Level::kError};
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const Output output = captured([&] {
      RunLog log(0, levels[i]);
      write_all_levels(log);
    });
    EXPECT_EQ(without_times(output.out).size() + without_times(output.err).size(), 4 - i);
  }
}

TEST(RunLog, OtherRanksOnlyWarnWithTheirRankAndWriteNoFile) {
  const TempFolder folder;
  const std::string file = folder / "train.log";
  const Output output = captured([&] {
    RunLog log(3, Level::kDebug);
    log.add_file(file);
    write_all_levels(log);
  });
  EXPECT_EQ(output.out, "");
  EXPECT_EQ(without_times(output.err),
            (Lines{"warning  comm  [rank 3] a warning", "error  main  [rank 3] an error"}));
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(RunLog, AResultIsWrittenWhateverTheLevelByRankZeroAlone) {
  const Output output = captured([] {
    RunLog log(0, Level::kError);
    log.info("train", "hidden");
    log.result("evaluate", "top-1 85 %");
    RunLog(1, Level::kDebug).result("evaluate", "of another rank");
    EXPECT_FALSE(log.console_failed());
  });
  EXPECT_EQ(without_times(output.out), std::vector<std::string>{"info  evaluate  top-1 85 %"});
}

TEST(RunLog, ARecordGoesToTheFileAlone) {
  const TempFolder folder;
  const std::string file = folder / "train.log";
  const Output output = captured([&] {
    RunLog log(0, Level::kInfo);
    log.record(Level::kError, "run", "there is no file yet");
    log.add_file(file);
    log.record(Level::kError, "run", "it failed");
  });
  EXPECT_EQ(output.out + output.err, "");
  EXPECT_EQ(without_times(read_file(file)), std::vector<std::string>{"error  run  it failed"});
}

TEST(RunLog, AddsToAnExistingFileAndNamesOneThatCannotBeOpened) {
  const TempFolder folder;
  const std::string file = folder / "train.log";
  for (int i = 0; i < 2; ++i) {
    captured([&] {
      RunLog log(0, Level::kInfo);
      log.add_file(file);
      log.info("train", "line");
    });
  }
  EXPECT_EQ(without_times(read_file(file)), (Lines{"info  train  line", "info  train  line"}));

  RunLog log(0, Level::kInfo);
  const std::string missing = folder / "no/such/train.log";
  try {
    log.add_file(missing);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(missing), std::string::npos) << error.what();
  }
}

TEST(RunLog, LinesOfSeveralThreadsStayWhole) {
  const TempFolder folder;
  const std::string file = folder / "train.log";
  captured([&] {
    RunLog log(0, Level::kInfo);
    log.add_file(file);
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&log, t] {
        for (int i = 0; i < 100; ++i) {
          log.info("data", std::string(50, static_cast<char>('a' + t)));
        }
      });
    }
    for (auto& thread : threads) thread.join();
  });
  std::map<std::string, int> counts;
  for (const auto& line : without_times(read_file(file))) ++counts[line];
  ASSERT_EQ(counts.size(), 4U);
  for (const auto& [line, count] : counts) EXPECT_EQ(count, 100) << line;
}

TEST(RunLog, AFullDiskIsReportedOnceAndTheGapIsMarked) {
  const TempFolder folder;
  const std::string file = folder / "train.log";
  const Output output = captured([&] {
    RunLog log(0, Level::kInfo);
    log.add_file(file);
    log.info("train", "first");
    // A limit on file sizes makes write() fail as a full disk does, in the middle of a line.
    auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
    struct rlimit before {};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = before;
    small.rlim_cur = std::filesystem::file_size(file) + 10;
    // The console is a file too while it is captured: it is written first and stays below.
    const int console = ::dup(STDOUT_FILENO);
    const int errors = ::dup(STDERR_FILENO);
    int pipes[2];
    ASSERT_EQ(::pipe(pipes), 0);
    ::dup2(pipes[1], STDOUT_FILENO);
    ::dup2(pipes[1], STDERR_FILENO);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    log.info("train", "second");
    log.info("train", "third");
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, handler);
    ::dup2(console, STDOUT_FILENO);
    ::dup2(errors, STDERR_FILENO);
    for (const int fd : {console, errors, pipes[1]}) ::close(fd);
    std::string shown(10000, '\0');
    const ssize_t count = ::read(pipes[0], shown.data(), shown.size());
    ::close(pipes[0]);
    ASSERT_GT(count, 0);
    shown.resize(static_cast<std::size_t>(count));
    const auto lines = without_times(shown);
    ASSERT_EQ(lines.size(), 3U) << shown;
    EXPECT_EQ(lines[0], "info  train  second");
    EXPECT_EQ(lines[1].find("error  log  " + file + " cannot be written ("), 0U) << lines[1];
    EXPECT_EQ(lines[2], "info  train  third");
    log.info("train", "fourth");
  });
  const auto lines = split(read_file(file), '\n');
  ASSERT_EQ(lines.size(), 5U);  // first, the torn second, the mark, fourth, the end
  EXPECT_NE(lines[0].find("first"), std::string::npos);
  EXPECT_EQ(lines[1].size(), 10U);
  // Second, the report itself, and third.
  EXPECT_EQ(lines[2], "[3 lines are missing here]");
  EXPECT_NE(lines[3].find("fourth"), std::string::npos);
}

TEST(RunLog, AClosedPipeNeitherEndsTheRunNorGoesUnsaid) {
  const TempFolder folder;
  const std::string file = folder / "train.log";
  std::signal(SIGPIPE, SIG_DFL);
  const Output output = captured([&] {
    RunLog log(0, Level::kInfo);
    log.add_file(file);
    const int console = ::dup(STDOUT_FILENO);
    int pipes[2];
    ASSERT_EQ(::pipe(pipes), 0);
    ::dup2(pipes[1], STDOUT_FILENO);
    ::close(pipes[1]);
    ::close(pipes[0]);  // as `| head` does when it has enough
    log.info("train", "one");
    log.info("train", "two");
    ::dup2(console, STDOUT_FILENO);
    ::close(console);
  });
  const auto reports = without_times(output.err);
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].find("error  log  the console (stdout) cannot be written (Broken pipe)"), 0U)
      << reports[0];
  EXPECT_EQ(without_times(read_file(file)),
            (Lines{"info  train  one", reports[0], "info  train  two"}));
}

TEST(LevelFromName, KnowsFourNames) {
  EXPECT_EQ(level_from_name("debug"), Level::kDebug);
  EXPECT_EQ(level_from_name("info"), Level::kInfo);
  EXPECT_EQ(level_from_name("warning"), Level::kWarning);
  EXPECT_EQ(level_from_name("error"), Level::kError);
  EXPECT_THROW((void)level_from_name("warn"), UsageError);
  EXPECT_THROW((void)level_from_name(""), UsageError);
}

}  // namespace
}  // namespace lockstep::report
