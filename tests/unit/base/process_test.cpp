#include "lockstep/base/process.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace lockstep {
namespace {

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
