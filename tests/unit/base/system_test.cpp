#include "lockstep/base/system.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "lockstep/base/check.hpp"
#include "temp_folder.hpp"

namespace {

int g_fsync_error = 0;  // of all fsyncs of this program; 0: the real one

}  // namespace

/// Stands before the C library's.
extern "C" int fsync(int descriptor) {
  errno = g_fsync_error;
  return g_fsync_error != 0 ? -1 : static_cast<int>(::syscall(SYS_fsync, descriptor));
}

namespace lockstep {
namespace {

/// A file of the test, open for reading and writing.
struct Open {
  explicit Open(const std::string& path)
      : descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {}
  ~Open() { ::close(descriptor); }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;
  int descriptor;
};

/// The message of the error that syncing a folder ends in.
std::string sync_error(const std::string& folder) {
  try {
    sync_folder(folder, "the hint");
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

TEST(System, ReadsUntilTheEndOfTheFile) {
  const TempFolder folder;
  const Open file(folder.write("f", "0123456789"));
  std::string text(4, ' ');
  EXPECT_EQ(read_at(file.descriptor, text.data(), 4, 2), 4);
  EXPECT_EQ(text, "2345");
  EXPECT_EQ(read_at(file.descriptor, text.data(), 4, 8), 2);
  EXPECT_EQ(text, "8945");
  EXPECT_EQ(read_at(file.descriptor, text.data(), 4, 10), 0);
  EXPECT_EQ(read_at(file.descriptor, text.data(), 0, 0), 0);
  EXPECT_EQ(read_at(-1, text.data(), 4, 0), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST(System, WritesAllOfItOrSaysWhyNot) {
  const TempFolder folder;
  const Open file(folder.path("f"));
  const std::string text = "0123456789";
  EXPECT_TRUE(write_at(file.descriptor, text.data(), text.size(), 3));
  std::string back(13, ' ');
  EXPECT_EQ(read_at(file.descriptor, back.data(), back.size(), 0), 13);
  EXPECT_EQ(back, std::string(3, '\0') + text);
  EXPECT_FALSE(write_at(-1, text.data(), text.size(), 0));
  EXPECT_EQ(errno, EBADF);

  // A limit in the middle: the first part is written, the rest is refused.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_action = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{15, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const bool written = write_at(file.descriptor, text.data(), text.size(), 10);
  const int reason = errno;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_action);
  EXPECT_FALSE(written);
  EXPECT_EQ(reason, EFBIG);
}

TEST(System, AFolderThatCannotBeSyncedIsAnError) {
  const TempFolder folder;
  const std::string place = folder.path("");
  EXPECT_NO_THROW(sync_folder(place, "hint"));
  EXPECT_EQ(sync_error(place + "nowhere"),
            "cannot open folder '" + place + "nowhere' (No such file or directory) - the hint");
  for (const int none : {EINVAL, ENOSYS, EOPNOTSUPP}) {
    g_fsync_error = none;
    EXPECT_NO_THROW(sync_folder(place, "hint")) << "the file system has no such thing: " << none;
  }
  for (const int fails : {EIO, ENOSPC, EDQUOT}) {
    g_fsync_error = fails;
    const std::string text = sync_error(place);
    EXPECT_NE(text.find("'" + place + "' ("), std::string::npos) << text;
    EXPECT_NE(text.find(") - the hint"), std::string::npos) << text;
    EXPECT_EQ(text.find("Success"), std::string::npos) << text;
  }
  g_fsync_error = 0;
}

TEST(SyncFileSystem, NamesAFolderThatIsNotThere) {
  const TempFolder folder;
  EXPECT_NO_THROW(sync_file_system(folder.path("."), "the hint"));
  EXPECT_THROW(sync_file_system(folder.path("away"), "the hint"), Error);
}

TEST(EndProcess, FlushesAndSkipsTheDestructorsOfGlobals) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto leave = [](int code) {
    std::clog << "all of it" << std::flush;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    std::atexit([] { std::abort(); });
#endif
    end_process(code);
  };
  EXPECT_EXIT(leave(0), ::testing::ExitedWithCode(0), "all of it");
  EXPECT_EXIT(leave(85), ::testing::ExitedWithCode(85), "all of it");
}

TEST(System, TheHostHasAName) { EXPECT_FALSE(host_name().empty()); }

TEST(System, MemoryIsWhatLiesInRam) {
  constexpr std::int64_t kMebibyte = 1 << 20;
  constexpr std::size_t kSize = 64 * kMebibyte;
  const ProcessMemory before = process_memory();
  EXPECT_GT(before.resident, kMebibyte / 4);
  EXPECT_GE(before.peak, before.resident);
  // Not from the heap, which may keep what is freed.
  void* const block =
      ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(block, MAP_FAILED);
  std::memset(block, 1, kSize);
  const std::int64_t held = process_memory().resident;
  EXPECT_GT(held, before.resident + 60 * kMebibyte);
  ASSERT_EQ(::munmap(block, kSize), 0);
  const ProcessMemory after = process_memory();
  EXPECT_LT(after.resident, held - 32 * kMebibyte);
  EXPECT_GE(after.peak, held - kMebibyte) << "the peak stays";
}

volatile std::sig_atomic_t seen = 0;

TEST(TurnSignalIntoError, IgnoresTheDefaultAndKeepsAHandler) {
  std::signal(SIGXFSZ, SIG_DFL);
  turn_signal_into_error(SIGXFSZ);
  EXPECT_EQ(std::signal(SIGXFSZ, [](int) { seen = 1; }), SIG_IGN);
  turn_signal_into_error(SIGXFSZ);
  std::raise(SIGXFSZ);
  EXPECT_EQ(seen, 1);
  std::signal(SIGXFSZ, SIG_DFL);
}

}  // namespace
}  // namespace lockstep
