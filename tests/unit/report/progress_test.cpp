#include "lockstep/report/progress.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "lockstep/base/check.hpp"
#include "posix_regex.hpp"
#include "temp_folder.hpp"

namespace lockstep::report {
namespace {

template <typename Action>
std::string printed(const Action& action) {
  testing::internal::CaptureStdout();
  action();
  return testing::internal::GetCapturedStdout();
}

/// A terminal of `columns` in place of stdout while the object lives.
class Terminal {
 public:
  explicit Terminal(unsigned short columns)
      : master_(::posix_openpt(O_RDWR | O_NOCTTY)), saved_(::dup(STDOUT_FILENO)) {
    EXPECT_GE(master_, 0);
    EXPECT_EQ(::grantpt(master_), 0);
    EXPECT_EQ(::unlockpt(master_), 0);
    slave_ = ::open(::ptsname(master_), O_RDWR | O_NOCTTY);
    EXPECT_GE(slave_, 0);
    struct winsize size {};
    size.ws_col = columns;
    size.ws_row = 25;
    EXPECT_EQ(::ioctl(slave_, TIOCSWINSZ, &size), 0);
    std::fflush(stdout);
    ::dup2(slave_, STDOUT_FILENO);
  }
  ~Terminal() { restore(); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Ends it and returns what was shown.
  std::string restore() {
    if (saved_ < 0) return {};
    std::fflush(stdout);
    // A pseudo-terminal hands its bytes over in its own time: read up to a mark of our own.
    constexpr char kEnd = '\x03';
    EXPECT_EQ(::write(slave_, &kEnd, 1), 1);
    std::string text;
    struct pollfd readable {
      master_, POLLIN, 0
    };
    char byte = 0;
    while (::poll(&readable, 1, /*ms=*/10000) == 1 && ::read(master_, &byte, 1) == 1) {
      if (byte == kEnd) break;
      text += byte;
    }
    EXPECT_EQ(byte, kEnd);
    ::dup2(saved_, STDOUT_FILENO);
    for (const int fd : {saved_, slave_, master_}) ::close(fd);
    saved_ = -1;
    return text;
  }

 private:
  int master_;
  int saved_;
  int slave_ = -1;
};

TEST(ProgressMode, AutoLooksAtTheConsole) {
  testing::internal::CaptureStdout();
  const ProgressMode in_file = progress_mode("auto");
  testing::internal::GetCapturedStdout();
  EXPECT_EQ(in_file, ProgressMode::kPlain);
  Terminal terminal(80);
  const ProgressMode on_terminal = progress_mode("auto");
  terminal.restore();
  EXPECT_EQ(on_terminal, ProgressMode::kBar);
}

/// progress_mode("auto") of a rank whose stdout is `terminal`, below a launcher that is this
/// process.
ProgressMode mode_of_rank(int terminal) {
  const pid_t rank = ::fork();
  if (rank == 0) {
    ::setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    ::dup2(terminal, STDOUT_FILENO);
    ::_exit(static_cast<int>(progress_mode("auto")));
  }
  int status = 0;
  ::waitpid(rank, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  return static_cast<ProgressMode>(WEXITSTATUS(status));
}

TEST(ProgressMode, AutoLooksAtTheLaunchersConsoleUnderMpirun) {
  Terminal terminal(80);
  const int console = ::dup(STDOUT_FILENO);
  const ProgressMode shown = mode_of_rank(console);
  testing::internal::CaptureStdout();  // `mpirun ... > file`: the rank still has its terminal
  const ProgressMode redirected = mode_of_rank(console);
  testing::internal::GetCapturedStdout();
  ::close(console);
  terminal.restore();
  EXPECT_EQ(shown, ProgressMode::kBar);
  EXPECT_EQ(redirected, ProgressMode::kPlain);
}

TEST(ProgressMode, KnowsItsWords) {
  EXPECT_EQ(progress_mode("bar"), ProgressMode::kBar);
  EXPECT_EQ(progress_mode("plain"), ProgressMode::kPlain);
  EXPECT_EQ(progress_mode("off"), ProgressMode::kOff);
  EXPECT_THROW((void)progress_mode("on"), UsageError);
}

TEST(Progress, PlainLinesShowAllNumbers) {
  const std::string text = printed([] {
    Progress progress(ProgressMode::kPlain, 0);
    progress.start("epoch 2/20", 40);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    progress.update(10, 1280, 1.23456, 0.05);
    progress.finish();
  });
  const auto groups = match(text,
                            "epoch 2/20  10/40  loss 1[.]2346  lr 0[.]05  ([0-9]+) images/s  "
                            "00:0[0-9] left\n");
  ASSERT_FALSE(groups.empty()) << text;
  EXPECT_GT(std::stod(groups[1]), 0);
  EXPECT_LE(std::stod(groups[1]), 1280 / 0.05);  // at least 50 ms went by
}

TEST(Progress, PlainLinesKeepTheirInterval) {
  const auto lines_in = [](double interval) {
    const std::string text = printed([&] {
      Progress progress(ProgressMode::kPlain, interval);
      progress.start("epoch", 100);
      for (int i = 1; i <= 100; ++i) progress.update(i, i, 1, 1);
    });
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_EQ(lines_in(0), 100);
  EXPECT_EQ(lines_in(3600), 0);
}

TEST(Progress, OffShowsNothing) {
  EXPECT_EQ(printed([] {
              Progress progress(ProgressMode::kOff, 0);
              progress.start("epoch", 10);
              progress.update(10, 10, 1, 1);
              progress.finish();
            }),
            "");
}

/// Texts between the carriage returns.
std::vector<std::string> frames_of(const std::string& text) {
  auto frames = split(text, '\r');
  frames.erase(frames.begin());
  for (std::string& frame : frames) {
    const std::string clear = "\x1b[K";
    EXPECT_TRUE(frame.ends_with(clear)) << frame;
    frame.resize(frame.size() - std::min(frame.size(), clear.size()));
  }
  return frames;
}

TEST(Progress, TheBarFitsTheTerminalAndIsClearedAtTheEnd) {
  for (const unsigned short columns : {20, 60, 75, 80, 100, 200}) {
    SCOPED_TRACE(columns);
    Terminal terminal(columns);
    Progress progress(ProgressMode::kBar, 10);
    progress.start("epoch 1/2", 4);
    progress.update(2, 256, 0.5, 0.1);
    progress.finish();
    progress.finish();  // nothing is left to clear
    const auto frames = frames_of(terminal.restore());
    ASSERT_EQ(frames.size(), 2U);
    EXPECT_LT(frames[0].size(), columns);
    EXPECT_EQ(frames[0].substr(0, 9), "epoch 1/2");
    EXPECT_EQ(frames[1], "");
    if (columns < 80) continue;
    const auto open = frames[0].find('[');
    const auto close = frames[0].find(']');
    ASSERT_NE(open, std::string::npos) << frames[0];
    ASSERT_NE(close, std::string::npos) << frames[0];
    const std::string inner = frames[0].substr(open + 1, close - open - 1);
    const auto filled = std::count(inner.begin(), inner.end(), '=');
    EXPECT_EQ(filled, static_cast<std::ptrdiff_t>(inner.size() / 2));  // 2 of 4
    EXPECT_NE(frames[0].find("2/4  loss 0.5000  lr 0.1"), std::string::npos) << frames[0];
  }
}

TEST(Progress, TheBarRedrawsAtMostTenTimesASecondAndAlwaysAtTheEnd) {
  const auto begin = std::chrono::steady_clock::now();
  std::chrono::duration<double> elapsed{};
  const std::string text = printed([&] {
    Progress progress(ProgressMode::kBar, 0);
    progress.start("epoch", 300);
    for (int i = 1; i <= 300; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      progress.update(i, i, 1, 1);
    }
    elapsed = std::chrono::steady_clock::now() - begin;
    progress.finish();
  });
  const auto frames = frames_of(text);
  EXPECT_GE(frames.size(), 4U);  // the first, one in the middle, the last, the clearing
  EXPECT_LE(static_cast<double>(frames.size()), elapsed.count() * 10 + 3);
  EXPECT_NE(frames[frames.size() - 2].find("300/300"), std::string::npos);
}

TEST(DurationText, CountsHoursOnlyWhenThereAreSome) {
  EXPECT_EQ(duration_text(0), "00:00");
  EXPECT_EQ(duration_text(59.4), "00:59");
  EXPECT_EQ(duration_text(59.6), "01:00");
  EXPECT_EQ(duration_text(123), "02:03");
  EXPECT_EQ(duration_text(3599.6), "1:00:00");
  EXPECT_EQ(duration_text(3723), "1:02:03");
  EXPECT_EQ(duration_text(100 * 3600), "100:00:00");
  EXPECT_EQ(duration_text(-1), "--:--");
  EXPECT_EQ(duration_text(NAN), "--:--");
  EXPECT_EQ(duration_text(INFINITY), "--:--");
}

}  // namespace
}  // namespace lockstep::report
