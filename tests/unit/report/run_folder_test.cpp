#include "lockstep/report/run_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <vector>

#include "lockstep/base/check.hpp"
#include "lockstep/report/lease_watch.hpp"
#include "posix_regex.hpp"
#include "temp_folder.hpp"

namespace lockstep::report {
namespace {

namespace fs = std::filesystem;

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof(name) - 1);
  return name;
}

std::int64_t now() { return static_cast<std::int64_t>(std::time(nullptr)); }

nlohmann::json lease_of(const std::string& folder) {
  return nlohmann::json::parse(read_file(folder + "/lease.json"));
}

/// The UsageError on making root/name, "" when there is none.
std::string refusal(const TempFolder& root, const std::string& name) {
  try {
    const RunFolder folder(root.path(), name, "suffix");
  } catch (const UsageError& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return error.what();
  }
  return {};
}

/// Makes root/run with a lease as another process would leave it.
void leave_lease(const TempFolder& root, const nlohmann::json& lease) {
  fs::create_directory(root / "run");
  std::ofstream(root / "run/lease.json") << lease.dump();
}

/// The number of a process that no longer is.
pid_t ended_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

TEST(RunFolder, AProcessThatHasEndedHoldsNothingAlsoWhenNobodyAsks) {
  const TempFolder root;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);  // a zombie
  leave_lease(root, {{"host", host_name()}, {"pid", child}, {"heartbeat", now()}});
  EXPECT_NO_THROW(RunFolder(root.path(), "run", "", Existing::kGoOn));
  ::waitpid(child, nullptr, 0);
}

TEST(RunFolder, ALeaseThatWasLostIsNoticedAndLetBe) {
  const TempFolder root;
  const std::string file = root / "run/lease.json";
  {
    RunFolder folder(root.path(), "run", "");
    folder.keep();
    EXPECT_NO_THROW(folder.require_held());
    fs::remove(file);
    EXPECT_THROW(folder.require_held(), Error);
    std::ofstream(file) << "of another job";
    EXPECT_THROW(folder.require_held(), Error);
  }
  EXPECT_EQ(read_file(file), "of another job");
}

TEST(RunFolder, APipeAsLeaseIsNotWaitedFor) {
  const TempFolder root;
  fs::create_directory(root / "run");
  ASSERT_EQ(::mkfifo((root / "run/lease.json").c_str(), 0600), 0);
  EXPECT_THROW(RunFolder(root.path(), "run", "", Existing::kRefuse), UsageError);
  const RunFolder folder(root.path(), "run", "", Existing::kGoOn);
  EXPECT_EQ(lease_of(folder.path()).at("pid"), ::getpid());
}

TEST(RunFolder, ALinkToNothingAsLeaseIsReplaced) {
  const TempFolder root;
  fs::create_directory(root / "run");
  fs::create_symlink("nowhere", root / "run/lease.json");
  const RunFolder folder(root.path(), "run", "", Existing::kGoOn);
  EXPECT_EQ(lease_of(folder.path()).at("pid"), ::getpid());
  EXPECT_FALSE(fs::is_symlink(root / "run/lease.json"));
}

TEST(RunFolder, MakesTheFolderBelowANewRootWithALeaseWhileItLives) {
  const TempFolder temp;
  const std::string root = temp / "deep/runs";
  ::setenv("SLURM_JOB_ID", "4711", 1);
  {
    RunFolder folder(root, "my_run-1", "unused");
    folder.keep();
    EXPECT_EQ(folder.path(), root + "/my_run-1");
    EXPECT_TRUE(fs::is_directory(folder.path()));
    const auto lease = lease_of(folder.path());
    EXPECT_EQ(lease.at("host"), host_name());
    EXPECT_EQ(lease.at("pid"), ::getpid());
    EXPECT_EQ(lease.at("job"), "4711");
    EXPECT_NEAR(lease.at("heartbeat").get<double>(), static_cast<double>(now()), 2);
  }
  ::unsetenv("SLURM_JOB_ID");
  EXPECT_TRUE(fs::is_directory(root + "/my_run-1"));
  EXPECT_TRUE(fs::is_empty(root + "/my_run-1"));
}

TEST(RunFolder, AStartThatFailsLeavesTheNameFreeAndForeignFilesAlone) {
  const TempFolder root;
  {
    const RunFolder folder(root.path(), "run", "");
    fs::create_directory(folder.path() + "/checkpoints");
    std::ofstream(folder.path() + "/config.cfg") << "[run]";
  }
  EXPECT_FALSE(fs::exists(root / "run"));
  {
    const RunFolder folder(root.path(), "run", "");
    fs::create_directory(folder.path() + "/notes");
    std::ofstream(folder.path() + "/notes/mine.txt") << "kept";
  }
  EXPECT_TRUE(fs::exists(root / "run/notes/mine.txt"));
  EXPECT_FALSE(fs::exists(root / "run/lease.json"));
}

TEST(RunFolder, DefaultNamesAreTimeAndSuffixAndUnique) {
  const TempFolder root;
  const std::string pattern = "[0-9]{8}-[0-9]{6}_cifar_cnn_lr0[.]1_b128(_[0-9]+)?";
  std::set<std::string> paths;
  for (int i = 0; i < 5; ++i) {
    RunFolder folder(root.path(), "", "cifar_cnn_lr0.1_b128");
    folder.keep();
    paths.insert(folder.path());
    EXPECT_FALSE(match(fs::path(folder.path()).filename().string(), pattern).empty())
        << folder.path();
  }
  EXPECT_EQ(paths.size(), 5U);
}

TEST(RunFolder, TheHeartbeatGoesOn) {
  const TempFolder root;
  const RunFolder folder(root.path(), "run", "", Existing::kRefuse, "",
                         std::chrono::milliseconds(20));
  const auto first = lease_of(folder.path()).at("heartbeat").get<std::int64_t>();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (lease_of(folder.path()).at("heartbeat").get<std::int64_t>() == first) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

TEST(RunFolder, EndsAtOnceWhateverTheHeartbeat) {
  const TempFolder root;
  const auto begin = std::chrono::steady_clock::now();
  { const RunFolder folder(root.path(), "run", "", Existing::kRefuse, "", std::chrono::hours(1)); }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(RunFolder, AFolderInUseIsRefusedWithItsHolder) {
  const TempFolder root;
  const RunFolder folder(root.path(), "run", "");
  const std::string message = refusal(root, "run");
  EXPECT_NE(message.find("is in use (by process " + std::to_string(::getpid()) + " on host " +
                         host_name()),
            std::string::npos)
      << message;
  EXPECT_TRUE(fs::exists(folder.path() + "/lease.json"));
}

TEST(RunFolder, ALeaseOfAnotherHostLivesAsLongAsItsHeartbeat) {
  const nlohmann::json lease = {{"host", "elsewhere"}, {"pid", 1}, {"job", "77"}};
  for (const std::int64_t age : {0, 50, 70, 100000}) {
    const TempFolder root;
    auto aged = lease;
    aged["heartbeat"] = now() - age;
    leave_lease(root, aged);
    const std::string message = refusal(root, "run");
    const std::string holder = "is in use (by process 1 on host elsewhere, job 77";
    EXPECT_EQ(message.find(holder) != std::string::npos, age < 60) << age << ": " << message;
    EXPECT_EQ(message.find("exists (") != std::string::npos, age >= 60) << age << ": " << message;
    EXPECT_NE(message.find("run.name"), std::string::npos) << message;
  }
}

TEST(RunFolder, OnThisHostTheProcessDecidesAndNotTheHeartbeat) {
  const auto refused_with = [](std::int64_t pid, std::int64_t started, std::int64_t age) {
    const TempFolder root;
    leave_lease(root, {{"host", host_name()},
                       {"pid", pid},
                       {"start_ticks", started},
                       {"heartbeat", now() - age}});
    return refusal(root, "run");
  };
  EXPECT_NE(refused_with(::getpid(), 0, 100000).find("is in use"), std::string::npos);
  EXPECT_NE(refused_with(ended_process(), 0, 0).find("exists"), std::string::npos);
  // The number was given to another process, which began at another time.
  EXPECT_NE(refused_with(::getpid(), 1, 0).find("exists"), std::string::npos);
  EXPECT_NE(refused_with(-1, 0, 0).find("exists"), std::string::npos);
}

TEST(RunFolder, AnExistingFolderWithoutAReadableLeaseIsRefused) {
  for (const std::string text : {"", "{", "[1]", "{\"host\": 5}"}) {
    const TempFolder root;
    fs::create_directory(root / "run");
    if (!text.empty()) std::ofstream(root / "run/lease.json") << text;
    const std::string message = refusal(root, "run");
    EXPECT_NE(message.find("run folder " + root.path() + "/run exists"), std::string::npos)
        << message;
  }
}

TEST(RunFolder, GoingOnTakesOverAFolderThatNobodyHolds) {
  const TempFolder root;
  {
    RunFolder folder(root.path(), "run", "", Existing::kGoOn);
    EXPECT_FALSE(folder.existed());
  }
  EXPECT_FALSE(fs::exists(root / "run")) << "a start that failed leaves nothing";
  leave_lease(root, {{"host", host_name()}, {"pid", ended_process()}, {"heartbeat", now()}});
  std::ofstream(root / "run/metrics.csv") << "kept";
  {
    const RunFolder folder(root.path(), "run", "", Existing::kGoOn);
    EXPECT_TRUE(folder.existed());
    EXPECT_EQ(lease_of(folder.path()).at("pid"), ::getpid());
    const std::string message = refusal(root, "run");
    EXPECT_NE(message.find("is in use"), std::string::npos) << message;
  }
  EXPECT_EQ(read_file(root / "run/metrics.csv"), "kept") << "also when the start failed";
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(root / "run")) {
    names.insert(entry.path().filename().string());
  }
  EXPECT_EQ(names, std::set<std::string>{"metrics.csv"}) << "no lease and none put aside";
}

/// What comes of going on in root/run, after a watch where leases are renewed every 40 ms and
/// nobody's when silent for 400 ms.
std::string going_on(const TempFolder& root) {
  using std::chrono::milliseconds;
  LeaseWatch watch(root / "run", milliseconds(40), milliseconds(400));
  while (watch.look(milliseconds(10)) == LeaseWatch::Finding::kUnknown) {
  }
  try {
    const RunFolder folder(root.path(), "run", "", Existing::kGoOn, watch.silent());
  } catch (const UsageError& error) {
    return error.what();
  }
  return "taken over";
}

/// Its clock says nothing: what is not renewed is nobody's, what is renewed is held.
TEST(RunFolder, GoingOnWatchesAHolderOnAnotherMachineWhateverItsClock) {
  for (const std::int64_t behind : {-100000, 0, 50, 70, 100000}) {
    nlohmann::json lease = {{"host", "elsewhere"}, {"pid", 1}, {"job", "7"}};
    lease["heartbeat"] = now() - behind;
    {
      const TempFolder root;
      leave_lease(root, lease);
      EXPECT_EQ(going_on(root), "taken over") << behind;
    }
    const TempFolder root;
    leave_lease(root, lease);
    std::thread holder([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      lease["heartbeat"] = now() - behind + 1;
      std::ofstream(root / "run/lease.new") << lease.dump();
      fs::rename(root / "run/lease.new", root / "run/lease.json");
    });
    const std::string message = going_on(root);
    holder.join();
    EXPECT_NE(message.find("is in use (by process 1 on host elsewhere, job 7"), std::string::npos)
        << behind << ": " << message;
  }
}

TEST(RunFolder, WithoutAWatchAHolderOnAnotherMachineIsLetBe) {
  const TempFolder root;
  leave_lease(root, {{"host", "elsewhere"}, {"pid", 1}, {"heartbeat", 5}});
  EXPECT_THROW(RunFolder(root.path(), "run", "", Existing::kGoOn), UsageError);
  EXPECT_THROW(RunFolder(root.path(), "run", "", Existing::kGoOn, "another text"), UsageError);
}

TEST(LeaseWatch, LooksNoLongerThanItIsTold) {
  const TempFolder root;
  leave_lease(root, {{"host", "elsewhere"}, {"pid", 1}, {"heartbeat", now()}});
  LeaseWatch watch(root / "run");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(watch.look(std::chrono::milliseconds(20)), LeaseWatch::Finding::kUnknown);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  fs::remove(root / "run/lease.json");
  EXPECT_EQ(watch.look(std::chrono::milliseconds(20)), LeaseWatch::Finding::kFree);
  EXPECT_EQ(watch.silent(), "");
}

/// Several that begin at once, where a stale lease lies: one of them holds the folder, the others
/// are refused, and none sees an empty lease.
TEST(RunFolder, OneOfManyThatTakeOverAtOnceHoldsIt) {
  for (int round = 0; round < 20; ++round) {
    const TempFolder root;
    leave_lease(root, {{"host", host_name()}, {"pid", ended_process()}, {"heartbeat", now()}});
    std::vector<pid_t> children;
    int gate[2] = {};
    ASSERT_EQ(::pipe(gate), 0);
    for (int i = 0; i < 4; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::close(gate[1]);
        char byte = 0;
        static_cast<void>(::read(gate[0], &byte, 1));
        int code = 1;
        try {
          const RunFolder folder(root.path(), "run", "", Existing::kGoOn);
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
          folder.require_held();
          code = 0;
        } catch (const UsageError&) {
          code = 2;
        } catch (...) {
        }
        ::_exit(code);
      }
      children.push_back(child);
    }
    ::close(gate[0]);
    ::close(gate[1]);
    std::multiset<int> codes;
    for (const pid_t child : children) {
      int status = 0;
      ::waitpid(child, &status, 0);
      codes.insert(WEXITSTATUS(status));
    }
    EXPECT_EQ(codes, (std::multiset<int>{0, 2, 2, 2})) << "round " << round;
  }
}

TEST(RunFolder, AnEarlierStartOfTheSameSlurmJobIsGone) {
  const TempFolder root;
  leave_lease(root, {{"host", "elsewhere"}, {"pid", 1}, {"job", "4711"}, {"heartbeat", now()}});
  ::setenv("SLURM_JOB_ID", "4711", 1);
  ::setenv("SLURM_RESTART_COUNT", "1", 1);
  {
    const RunFolder folder(root.path(), "run", "", Existing::kGoOn);
    EXPECT_EQ(lease_of(folder.path()).at("restart"), 1);
  }
  ::unsetenv("SLURM_JOB_ID");
  ::unsetenv("SLURM_RESTART_COUNT");
}

TEST(RunFolder, NamesThatLeadElsewhereAreRefused) {
  const TempFolder root;
  for (const std::string name : {"a/b", "/a", "..", "."}) {
    EXPECT_NE(refusal(root, name).find("cannot name a run"), std::string::npos) << name;
  }
  EXPECT_TRUE(fs::is_empty(root.path()));
}

TEST(RunFolder, ARootThatCannotBeMadeIsAnErrorByName) {
  const TempFolder temp;
  std::ofstream(temp / "file") << "x";
  for (const std::string& root : {temp / "file", temp / "file/below"}) {
    try {
      const RunFolder folder(root, "run", "");
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kFailed);
      EXPECT_NE(std::string(error.what()).find(root), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace lockstep::report
