// Main of all MPI tests: every rank runs the same tests, the failures of each are printed with its
// rank, and the worst result is the result. A program in which no test ran fails.

#include <gtest/gtest.h>

#include <cstdio>
#include <exception>
#include <string>

#include "support/leak_check.hpp"
#include "support/mpi_fixture.hpp"

namespace lockstep::test {
namespace {

comm::MpiSession* the_session = nullptr;

/// Prints failures alone, each in one write so that lines of two ranks do not mix.
class RankPrinter final : public ::testing::EmptyTestEventListener {
 public:
  explicit RankPrinter(int rank) : rank_(rank) {}

 private:
  // Asking gtest for the current test while it reports a result would wait for its lock for ever.
  void OnTestStart(const ::testing::TestInfo& test) override {
    test_ = std::string(test.test_suite_name()) + "." + test.name() + " ";
  }
  void OnTestEnd(const ::testing::TestInfo& /*test*/) override { test_.clear(); }

  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::string text = "[rank " + std::to_string(rank_) + "] FAILED " + test_;
    if (result.file_name() != nullptr) {
      text += std::string(result.file_name()) + ":" + std::to_string(result.line_number());
    }
    text += "\n" + std::string(result.message()) + "\n";
    std::fputs(text.c_str(), stderr);
  }

  int rank_;
  std::string test_;
};

int run_all(comm::MpiSession& session) {
  the_session = &session;
  const comm::World& world = session.world();
  auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
  if (!world.is_root()) {
    delete listeners.Release(listeners.default_result_printer());
    delete listeners.Release(listeners.default_xml_generator());
  }
  listeners.Append(new RankPrinter(world.rank));
  const auto control = session.make_collectives({.name = "test-results"});

  std::int64_t mine = RUN_ALL_TESTS();
  if (::testing::GTEST_FLAG(list_tests)) return static_cast<int>(mine);
  const int ran = ::testing::UnitTest::GetInstance()->test_to_run_count();
  if (ran == 0) {
    std::fprintf(stderr, "[rank %d] no test ran\n", world.rank);
    mine = 1;
  }
  const std::int64_t worst = control->max(mine);
  if (worst != 0 && world.is_root()) {
    std::fprintf(stderr, "FAILED on at least one of %d ranks\n", world.size);
  }
  return static_cast<int>(worst);
}

}  // namespace

comm::MpiSession& mpi_session() { return *the_session; }

}  // namespace lockstep::test

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  try {
    lockstep::comm::MpiSession session = lockstep::test::open_session(argc, argv);
    const int result = lockstep::test::run_all(session);
    lockstep::test::check_leaks_before_finalize();
    return result;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    lockstep::comm::MpiSession::abort(1);
  }
}
