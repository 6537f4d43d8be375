#include "lib/staging.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <iterator>

#include "lockstep/base/check.hpp"
#include "temp_folder.hpp"

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

std::string host() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

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

TEST(Staging, CommitPutsItInPlaceAlsoWithASlashAndNewParents) {
  const TempFolder root;
  StagingFolder staging(root / "deep/er/out/", false);
  std::ofstream(staging.path() + "/set.json") << "new";
  staging.commit();
  EXPECT_EQ(read(root / "deep/er/out/set.json"), "new");
  EXPECT_EQ(entries(root / "deep/er"), 1U);
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

TEST(Staging, OverwriteKeepsTheOldSetUntilCommit) {
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

TEST(Staging, OnlySetsAreEverReplaced) {
  const TempFolder root;
  root.touch("set/set.json");
  root.touch("set/00000.h5");
  root.touch("split/train/set.json");
  root.touch("split/val/set.json");
  fs::create_directory(root / "empty");
  EXPECT_TRUE(holds_only_sets(root / "set"));
  EXPECT_TRUE(holds_only_sets(root / "split"));
  EXPECT_TRUE(holds_only_sets(root / "empty"));
  root.touch("set/holiday.jpg");
  root.touch("split/photos/1.jpg");
  root.touch("pictures/cat/1.jpg");
  root.touch("file");
  for (const char* name : {"set", "split", "pictures", "file"}) {
    EXPECT_FALSE(holds_only_sets(root / name)) << name;
    EXPECT_THROW(StagingFolder(root / name, true), UsageError) << name;
    EXPECT_TRUE(fs::exists(root / name));
  }
}

TEST(Staging, LeftoversOfDeadProcessesGo) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);  // its number is free now
  const TempFolder root;
  const std::string dead = "out.tmp-" + std::to_string(child) + "-" + host();
  const std::string alive = "out.tmp-1-" + host();
  const std::string foreign = "out.tmp-" + std::to_string(child) + "-elsewhere";
  const std::string other = "out.tmp-abc";
  for (const auto& name : {dead, alive, foreign, other}) root.touch(name + "/00000.h5");
  ::testing::internal::CaptureStderr();
  { const StagingFolder staging(root / "out", false); }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_FALSE(fs::exists(root / dead));
  EXPECT_NE(said.find("removed " + (root / dead)), std::string::npos) << said;
  EXPECT_NE(said.find(foreign), std::string::npos) << said;
  for (const auto& name : {alive, foreign, other}) EXPECT_TRUE(fs::exists(root / name)) << name;
}

}  // namespace
}  // namespace lockstep::tools
