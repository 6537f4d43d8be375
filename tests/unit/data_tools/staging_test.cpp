#include "lib/staging.hpp"

#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <iterator>
#include <utility>

#include "lockstep/base/check.hpp"
#include "lockstep/base/system.hpp"
#include "temp_folder.hpp"

namespace {

/// What happens between the last look at the destination and the step that replaces it.
std::function<void()> g_before_rename;
/// The error of file systems that cannot exchange folders, or 0.
int g_rename_error = 0;

}  // namespace

/// Stands before the C library's.
extern "C" int renameat2(int from_folder, const char* from, int to_folder, const char* to,
                         unsigned flags) noexcept {
  if (g_before_rename) std::exchange(g_before_rename, nullptr)();
  errno = g_rename_error;
  if (g_rename_error != 0) return -1;
  return static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

namespace lockstep::tools {
namespace {

namespace fs = std::filesystem;

std::string read(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::size_t entries(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

/// Commits and returns the error's message; empty when there was none.
std::string commit_error(StagingFolder& staging) {
  try {
    staging.commit();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

/// With and without the file system's own exchange of folders.
class StagingOnBoth : public ::testing::TestWithParam<int> {
 protected:
  StagingOnBoth() { g_rename_error = GetParam(); }
  ~StagingOnBoth() override {
    g_rename_error = 0;
    g_before_rename = nullptr;
  }
};

TEST(Staging, NothingStaysWithoutCommit) {
  const TempFolder root;
  {
    const StagingFolder staging(root / "out", false);
    EXPECT_TRUE(fs::is_directory(staging.path()));
    EXPECT_TRUE(staging.path().starts_with((root / "out") + ".tmp-" + std::to_string(::getpid())));
    std::ofstream(staging.path() + "/set.json") << "new";
    EXPECT_FALSE(fs::exists(root / "out"));
  }
  EXPECT_EQ(entries(root.path()), 0U);
}

TEST_P(StagingOnBoth, CommitPutsItInPlaceAlsoWithASlashAndNewParents) {
  const TempFolder root;
  StagingFolder staging(root / "deep/er/out/", false);
  std::ofstream(staging.path() + "/set.json") << "new";
  staging.commit();
  EXPECT_EQ(read(root / "deep/er/out/set.json"), "new");
  EXPECT_EQ(entries(root / "deep/er"), 1U);
}

TEST(Staging, NamesThatMakeNoFolder) {
  const TempFolder root;
  for (const std::string& path : {std::string(), root / "new/..", std::string("..")}) {
    EXPECT_THROW(check_destination(path, false), UsageError) << path;
    EXPECT_THROW(StagingFolder(path, false), UsageError) << path;
  }
  StagingFolder staging(root / "out/.", false);
  std::ofstream(staging.path() + "/set.json") << "new";
  staging.commit();
  EXPECT_EQ(read(root / "out/set.json"), "new");
}

TEST(Staging, AnExistingFolderIsRefused) {
  const TempFolder root;
  root.touch("out/set.json", "old");
  try {
    const StagingFolder staging(root / "out", false);
    FAIL() << "an existing folder was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_NE(std::string(error.what()).find("--overwrite"), std::string::npos);
  }
  EXPECT_EQ(read(root / "out/set.json"), "old");
}

TEST_P(StagingOnBoth, OverwriteKeepsTheOldSetUntilCommit) {
  const TempFolder root;
  root.touch("out/set.json", "old");
  root.touch("out/00000.h5");
  {
    const StagingFolder dropped(root / "out", true);
    std::ofstream(dropped.path() + "/set.json") << "never";
  }
  EXPECT_EQ(read(root / "out/set.json"), "old");
  StagingFolder staging(root / "out", true);
  std::ofstream(staging.path() + "/set.json") << "new";
  EXPECT_EQ(read(root / "out/set.json"), "old");
  staging.commit();
  EXPECT_EQ(read(root / "out/set.json"), "new");
  EXPECT_FALSE(fs::exists(root / "out/00000.h5"));
  EXPECT_EQ(entries(root.path()), 1U);
}

/// A process that has ended, as the owner of a leftover.
std::string left_by_the_dead(const std::string& out) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return out + ".tmp-" + std::to_string(child) + "-" + host_name();
}

TEST(Staging, AKillBetweenTheTwoRenamesLosesNothing) {
  const TempFolder root;
  const std::string left = left_by_the_dead("out");
  root.touch(left + "/set.json", "new");
  root.touch(left + ".old/set.json", "old");
  EXPECT_THROW(StagingFolder(root / "out", false), UsageError) << "the old one is there again";
  EXPECT_EQ(read(root / "out/set.json"), "old");
  EXPECT_EQ(entries(root.path()), 1U);
}

TEST(Staging, AKillAfterBothRenamesLeavesTheNewOne) {
  const TempFolder root;
  root.touch("out/set.json", "new");
  root.touch(left_by_the_dead("out") + ".old/set.json", "old");
  root.touch("out.tmp-1-elsewhere.old/set.json", "of another host");
  EXPECT_THROW(StagingFolder(root / "out", false), UsageError);
  EXPECT_EQ(read(root / "out/set.json"), "new");
  EXPECT_EQ(read(root / "out.tmp-1-elsewhere.old/set.json"), "of another host");
  EXPECT_EQ(entries(root.path()), 2U);
}

/// Files that a person may put where a set is expected.
const char* const kForeign[] = {"out/results.csv", "out/00000.h5.csv", "out/photos/1.jpg",
                                "out/train/notes.txt", "out/deep/set.json"};

TEST_P(StagingOnBoth, WhatAppearsWhilePackingStays) {
  for (const bool overwrite : {false, true}) {
    for (const std::string name : {"out/results.csv", "out/set.json", "out"}) {
      const TempFolder root;
      {
        StagingFolder staging(root / "out", overwrite);
        std::ofstream(staging.path() + "/set.json") << "new";
        root.touch(name, "mine");
        EXPECT_NE(commit_error(staging).find("exists by now"), std::string::npos) << name;
      }
      EXPECT_EQ(read(root / name), "mine");
      EXPECT_EQ(entries(root.path()), 1U);
    }
  }
}

TEST_P(StagingOnBoth, WhatComesIntoTheOldSetWhilePackingStays) {
  for (const std::string name : kForeign) {
    const TempFolder root;
    root.touch("out/set.json", "old");
    {
      StagingFolder staging(root / "out", true);
      root.touch(name, "mine");
      EXPECT_NE(commit_error(staging).find("something else than sets"), std::string::npos) << name;
    }
    EXPECT_EQ(read(root / name), "mine");
    EXPECT_EQ(read(root / "out/set.json"), "old");
    EXPECT_EQ(entries(root.path()), 1U);
  }
}

TEST_P(StagingOnBoth, AnOldSetThatBecameALinkStays) {
  const TempFolder root;
  root.touch("out/set.json", "old");
  {
    StagingFolder staging(root / "out", true);
    fs::rename(root / "out", root / "moved");
    fs::create_directory_symlink(root / "moved", root / "out");
    EXPECT_NE(commit_error(staging), "");
  }
  EXPECT_TRUE(fs::is_symlink(root / "out"));
  EXPECT_EQ(read(root / "moved/set.json"), "old");
}

TEST_P(StagingOnBoth, AnOldSetThatWentIsNotMissed) {
  const TempFolder root;
  root.touch("out/set.json", "old");
  StagingFolder staging(root / "out", true);
  std::ofstream(staging.path() + "/set.json") << "new";
  fs::remove_all(root / "out");
  staging.commit();
  EXPECT_EQ(read(root / "out/set.json"), "new");
  EXPECT_EQ(entries(root.path()), 1U);
}

TEST_P(StagingOnBoth, WhatComesInTheLastMomentIsKeptAndToldOf) {
  for (const std::string name : kForeign) {
    const TempFolder root;
    root.touch("out/set.json", "old");
    StagingFolder staging(root / "out", true);
    std::ofstream(staging.path() + "/set.json") << "new";
    g_before_rename = [&] { root.touch(name, "mine"); };
    ::testing::internal::CaptureStderr();
    staging.commit();
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(read(root / "out/set.json"), "new");
    const std::string kept = "out.kept-" + std::to_string(::getpid()) + "-" + host_name();
    EXPECT_EQ(read(root / (kept + name.substr(3))), "mine") << said;
    EXPECT_EQ(read(root / (kept + "/set.json")), "old") << "kept whole or not at all";
    EXPECT_NE(said.find(root / kept), std::string::npos) << said;
    // The next run, here or elsewhere, leaves it alone.
    { const StagingFolder next(root / "out", true); }
    EXPECT_EQ(read(root / (kept + name.substr(3))), "mine");
  }
}

TEST_P(StagingOnBoth, AFolderThatCameInTheLastMomentStays) {
  const TempFolder root;
  {
    StagingFolder staging(root / "out", true);
    g_before_rename = [&] { root.touch("out/results.csv", "mine"); };
    EXPECT_NE(commit_error(staging).find("exists by now"), std::string::npos);
  }
  EXPECT_EQ(read(root / "out/results.csv"), "mine");
  EXPECT_EQ(entries(root.path()), 1U);
}

INSTANTIATE_TEST_SUITE_P(FileSystems, StagingOnBoth, ::testing::Values(0, EINVAL),
                         [](const auto& test) {
                           return std::string(test.param == 0 ? "Exchange" : "TwoSteps");
                         });

TEST(Staging, OnlySetsAreEverReplaced) {
  const TempFolder root;
  root.touch("set/set.json");
  root.touch("set/00000.h5");
  root.touch("split/train/set.json");
  root.touch("split/val/set.json");
  fs::create_directory(root / "empty");
  EXPECT_TRUE(sets_of_shards().holds_only(root / "set"));
  EXPECT_TRUE(sets_of_shards().holds_only(root / "split"));
  EXPECT_TRUE(sets_of_shards().holds_only(root / "empty"));
  root.touch("set/holiday.jpg");
  root.touch("split/photos/1.jpg");
  root.touch("pictures/cat/1.jpg");
  root.touch("file");
  for (const char* name : {"set", "split", "pictures", "file"}) {
    EXPECT_FALSE(sets_of_shards().holds_only(root / name)) << name;
    EXPECT_THROW(StagingFolder(root / name, true), UsageError) << name;
    EXPECT_TRUE(fs::exists(root / name));
  }
  root.touch("good/set.json");
  fs::create_directory_symlink(root / "good", root / "link");
  fs::create_directory(root / "parts");
  fs::create_directory_symlink(root / "good", root / "parts/train");
  fs::create_symlink(root / "nowhere", root / "broken");
  for (const char* name : {"link", "parts", "broken"}) {
    EXPECT_THROW(StagingFolder(root / name, true), UsageError) << name;
  }
}

TEST(Staging, LeftoversOfDeadProcessesGo) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);  // its number is free now
  const TempFolder root;
  const std::string dead = "out.tmp-" + std::to_string(child) + "-" + host_name();
  const std::string alive = "out.tmp-1-" + host_name();
  const std::string foreign = "out.tmp-" + std::to_string(child) + "-elsewhere";
  const std::string other = "out.tmp-abc";
  for (const auto& name : {dead, alive, foreign, other}) root.touch(name + "/00000.h5");
  for (const char* name : {"/00000.h5.small", "/set.json", "/train/00001.h5"}) {
    root.touch(dead + name);
  }
  ::testing::internal::CaptureStderr();
  { const StagingFolder staging(root / "out", false); }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_FALSE(fs::exists(root / dead));
  EXPECT_NE(said.find("removed " + (root / dead)), std::string::npos) << said;
  EXPECT_NE(said.find(foreign), std::string::npos) << said;
  for (const auto& name : {alive, foreign, other}) EXPECT_TRUE(fs::exists(root / name)) << name;

  // The name of a leftover is no licence for what packing never makes.
  root.touch(dead + "/train/notes.txt", "mine");
  root.touch("else/00000.h5", "mine");
  ::testing::internal::CaptureStderr();
  { const StagingFolder staging(root / "out", false); }
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("cannot remove all of"),
            std::string::npos);
  EXPECT_EQ(read(root / (dead + "/train/notes.txt")), "mine");
  fs::remove_all(root / dead);
  fs::create_directory_symlink(root / "else", root / dead);
  { const StagingFolder staging(root / "out", false); }
  EXPECT_EQ(read(root / "else/00000.h5"), "mine");
}

TEST(Staging, OnlyItsOwnFilesGoWithoutCommit) {
  const TempFolder root;
  std::string place;
  {
    const StagingFolder staging(root / "out", false);
    place = staging.path();
    for (const char* name : {"/00000.h5", "/00000.h5.small", "/val/set.json", "/val/mine.txt"}) {
      fs::create_directories(fs::path(place + name).parent_path());
      std::ofstream(place + name) << "x";
    }
  }
  EXPECT_EQ(entries(place), 1U);
  EXPECT_EQ(entries(place + "/val"), 1U);
  EXPECT_EQ(read(place + "/val/mine.txt"), "x");
}

}  // namespace
}  // namespace lockstep::tools
