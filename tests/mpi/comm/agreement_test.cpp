#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>

#include "support/mpi_fixture.hpp"

namespace lockstep::comm {
namespace {

class AgreementTest : public test::MpiTest {
 protected:
  /// What all_agree throws on this rank when `failing(rank)` gives a message.
  template <typename Failing>
  [[nodiscard]] std::optional<AgreedError> outcome(Failing&& failing,
                                                   ExitCode code = ExitCode::kFailed) {
    try {
      all_agree(*control_, failing(world().rank), code);
    } catch (const AgreedError& error) {
      return error;
    }
    return std::nullopt;
  }

  std::unique_ptr<Collectives> control_ = make_collectives();
};

TEST_F(AgreementTest, SuccessEverywhereLetsAllGoOn) {
  EXPECT_FALSE(outcome([](int) { return std::string(); }).has_value());
  EXPECT_EQ(control_->sum(std::int64_t{1}), world().size);
}

TEST_F(AgreementTest, EverySingleRankIsHeard) {
  for (int failing = 0; failing < world().size; ++failing) {
    const auto error = outcome([&](int rank) {
      return rank == failing ? "rank " + std::to_string(rank) + " has no disk" : std::string();
    });
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->what(), "rank " + std::to_string(failing) + " has no disk");
    EXPECT_EQ(error->speaker(), failing);
    EXPECT_EQ(error->code(), ExitCode::kFailed);
  }
}

TEST_F(AgreementTest, TheLowestFailingRankSpeaksWithItsCode) {
  const int lowest = world().size > 1 ? 1 : 0;
  const ExitCode mine = world().rank == lowest ? ExitCode::kUsage : ExitCode::kFailed;
  const auto error = outcome(
      [&](int rank) {
        return rank >= lowest ? "message " + std::string(static_cast<std::size_t>(rank), 'x')
                              : std::string();
      },
      mine);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->what(), "message " + std::string(static_cast<std::size_t>(lowest), 'x'));
  EXPECT_EQ(error->speaker(), lowest);
  EXPECT_EQ(error->code(), ExitCode::kUsage);
}

TEST_F(AgreementTest, APhasePassesItsErrorsOn) {
  const int last = world().size - 1;
  try {
    agreed_phase(*control_, [&] {
      if (world().rank == last) throw UsageError("no such file", "a typing error", "look again");
    });
    FAIL() << "the error of rank " << last << " was lost";
  } catch (const AgreedError& error) {
    EXPECT_STREQ(error.what(), "no such file (a typing error) - look again");
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_EQ(error.speaker(), last);
  }
  try {
    agreed_phase(*control_, [&] {
      if (world().rank == last) throw std::runtime_error("");
    });
    FAIL() << "an error without text passed as success";
  } catch (const AgreedError& error) {
    EXPECT_NE(std::string(error.what()), "");
    EXPECT_EQ(error.code(), ExitCode::kFailed);
  }
  int ran = 0;
  agreed_phase(*control_, [&] { ++ran; });
  EXPECT_EQ(ran, 1);
}

// An agreement inside a phase ends the phase at once: a second one would find nobody there.
TEST_F(AgreementTest, AnAgreedErrorPassesUnchanged) {
  try {
    agreed_phase(*control_, [&] { all_agree(*control_, "inner " + std::to_string(world().rank)); });
    FAIL();
  } catch (const AgreedError& error) {
    EXPECT_STREQ(error.what(), "inner 0");
    EXPECT_EQ(error.speaker(), 0);
  }
  EXPECT_EQ(control_->sum(std::int64_t{1}), world().size);
}

TEST_F(AgreementTest, EqualValuesAreFine) {
  require_same(*control_, "abc", "config");
  require_same(*control_, "", "config");
  require_same(*control_, std::string(100000, 'z'), "config");
}

TEST_F(AgreementTest, ADifferentValueIsNamedWithItsRank) {
  if (world().size == 1) GTEST_SKIP() << "one rank has nobody to differ from";
  for (int other = 1; other < world().size; ++other) {
    const bool differs = world().rank >= other;
    try {
      require_same(*control_, std::string(500, 'a') + (differs ? "right" : "left"),
                   "the shard manifest");
      FAIL() << "rank " << other << " passed with another value";
    } catch (const AgreedError& error) {
      const std::string text = error.what();
      const std::string rank = "rank " + std::to_string(other);
      EXPECT_NE(text.find(rank + " differs from rank 0 in the shard manifest"), std::string::npos)
          << text;
      EXPECT_NE(text.find("left"), std::string::npos) << text;
      EXPECT_NE(text.find("right"), std::string::npos) << text;
      EXPECT_LT(text.size(), 500U) << "the whole value was printed";
      EXPECT_EQ(error.speaker(), 0);
    }
  }
  const std::string mine = world().rank == world().size - 1 ? "abc and more" : "abc";
  EXPECT_THROW(require_same(*control_, mine, "length"), AgreedError);
}

}  // namespace
}  // namespace lockstep::comm
