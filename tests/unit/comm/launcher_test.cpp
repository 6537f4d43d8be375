#include "comm/launcher.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "lockstep/comm/mpi_session.hpp"
#include "support/leak_check.hpp"

namespace lockstep::comm {
namespace {

using Environment = std::map<std::string, std::string>;

// check_launcher takes a plain function, so the environment of a test cannot be a capture.
Environment the_environment;

const char* lookup(const char* variable) {
  const auto found = the_environment.find(variable);
  return found == the_environment.end() ? nullptr : found->second.c_str();
}

/// The message of check_launcher, "" when it is content.
std::string complaint(int mpi_size, const Environment& environment) {
  the_environment = environment;
  try {
    check_launcher(mpi_size, lookup);
  } catch (const UsageError& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return error.what();
  }
  return "";
}

TEST(CheckLauncher, TasksThatDoNotSeeEachOtherAreExplained) {
  const std::vector<Environment> cases = {
      {{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "2"}, {"SLURM_STEP_ID", "0"}},
      {{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "0"}},
      {{"OMPI_COMM_WORLD_SIZE", "4"}},
      {{"PMI_SIZE", "4"}},
      {{"PMI_SIZE", "4"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}},
  };
  for (const Environment& environment : cases) {
    const std::string text = complaint(1, environment);
    EXPECT_NE(text.find("4 tasks"), std::string::npos) << environment.begin()->first;
    EXPECT_NE(text.find("=4"), std::string::npos) << text;
    EXPECT_NE(text.find("srun --mpi=pmix"), std::string::npos) << text;
  }
}

TEST(CheckLauncher, NothingIsWrongWhenMpiSeesSeveral) {
  EXPECT_EQ(complaint(4, {{"OMPI_COMM_WORLD_SIZE", "4"}}), "");
  EXPECT_EQ(complaint(2, {{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "0"}}), "");
}

TEST(CheckLauncher, ALoneProcessIsFine) {
  EXPECT_EQ(complaint(1, {}), "");
  // In the shell of sbatch the job has four tasks, but no step started them.
  EXPECT_EQ(complaint(1, {{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}), "");
  EXPECT_EQ(complaint(1, {{"SLURM_STEP_NUM_TASKS", "4"}}), "");
  EXPECT_EQ(complaint(1, {{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}}), "");
  for (const char* shell : {"batch", "interactive", "4294967291", "4294967290"}) {
    EXPECT_EQ(
        complaint(1,
                  {{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", shell}}),
        "")
        << shell;
  }
  EXPECT_EQ(complaint(1, {{"OMPI_COMM_WORLD_SIZE", "1"}}), "");
  EXPECT_EQ(complaint(1, {{"PMI_SIZE", "1"}}), "");
  EXPECT_EQ(complaint(1, {{"PMI_SIZE", "many"}, {"OMPI_COMM_WORLD_SIZE", ""}}), "");
}

// mpirun -np 1 below a step of Slurm: mpirun is the nearer launcher.
TEST(CheckLauncher, TheNearestLauncherDecides) {
  EXPECT_EQ(
      complaint(
          1, {{"OMPI_COMM_WORLD_SIZE", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "3"}}),
      "");
}

TEST(OffersRendezvous, PmixAndPmiAreRecognised) {
  for (const char* variable : {"PMIX_NAMESPACE", "PMIX_RANK", "PMI_FD", "PMI_RANK"}) {
    the_environment = {{variable, "0"}};
    EXPECT_TRUE(offers_rendezvous(lookup)) << variable;
  }
  the_environment = {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}};
  EXPECT_FALSE(offers_rendezvous(lookup));
}

/// A whole session in a process of its own (a death test re-executes this program); leaves with the
/// world size, or as main does on an error.
[[noreturn]] void run_session(const Environment& environment) {
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  int argc = 0;
  char** argv = nullptr;
  int size = 0;
  try {
    const MpiSession session = test::open_session(argc, argv);
    size = session.world().size;
    test::check_leaks_before_finalize();
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::exit(static_cast<int>(error.code()));
  }
  std::exit(10 + size);
}

class SessionDeathTest : public ::testing::Test {
 protected:
  SessionDeathTest() { ::testing::GTEST_FLAG(death_test_style) = "threadsafe"; }
};

TEST_F(SessionDeathTest, ASingleProcessNeedsNoLauncher) {
  EXPECT_EXIT(run_session({}), ::testing::ExitedWithCode(11), "");
  EXPECT_EXIT(run_session({{"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}}),
              ::testing::ExitedWithCode(11), "");
}

TEST_F(SessionDeathTest, SlurmTasksThatMpiDoesNotSeeStopTheProgram) {
  EXPECT_EXIT(run_session({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "0"}}),
              ::testing::ExitedWithCode(2), "4 tasks.*srun --mpi=pmix");
  // All that srun --mpi=none sets: here Open MPI itself would stop inside MPI_Init.
  EXPECT_EXIT(run_session({{"SLURM_STEP_NUM_TASKS", "4"},
                           {"SLURM_PROCID", "0"},
                           {"SLURM_STEP_ID", "0"},
                           {"SLURM_STEPID", "0"},
                           {"SLURM_JOB_ID", "7"},
                           {"SLURM_JOBID", "7"},
                           {"SLURM_NTASKS", "4"},
                           {"SLURM_NODELIST", "localhost"},
                           {"SLURM_JOB_NODELIST", "localhost"},
                           {"SLURM_TASKS_PER_NODE", "4"},
                           {"SLURM_LOCALID", "0"}}),
              ::testing::ExitedWithCode(2), "4 tasks.*srun --mpi=pmix");
}

TEST_F(SessionDeathTest, TasksOfAnotherMpirunStopTheProgram) {
  EXPECT_EXIT(run_session({{"OMPI_COMM_WORLD_SIZE", "3"}}), ::testing::ExitedWithCode(2),
              "3 tasks.*OMPI_COMM_WORLD_SIZE=3");
  EXPECT_EXIT(run_session({{"PMI_SIZE", "3"}}), ::testing::ExitedWithCode(2),
              "3 tasks.*PMI_SIZE=3");
}

}  // namespace
}  // namespace lockstep::comm
