// Signals that ask for a stop.
#include "lockstep/train/stop_signal.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace lockstep::train {
namespace {

TEST(StopSignal, EachOfThemAsksOnce) {
  for (const int signal : {SIGUSR1, SIGTERM, SIGINT}) {
    const StopSignal stop;
    EXPECT_FALSE(stop.requested()) << "of the one before";
    ::raise(signal);
    EXPECT_TRUE(stop.requested()) << signal;
  }
}

TEST(StopSignal, WhatWasThereBeforeComesBack) {
  struct sigaction before {};
  ::sigaction(SIGTERM, nullptr, &before);
  { const StopSignal stop; }
  struct sigaction after {};
  ::sigaction(SIGTERM, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

/// How a child ends that gets `signal` twice: the signal, or 0 when it lives on.
int end_after_two(int signal) {
  const pid_t child = ::fork();
  if (child == 0) {
    const StopSignal stop;
    ::raise(signal);
    ::raise(signal);
    ::_exit(stop.requested() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(StopSignal, TheSecondOfThoseThatAPersonSendsEnds) {
  EXPECT_EQ(end_after_two(SIGTERM), SIGTERM);
  EXPECT_EQ(end_after_two(SIGINT), SIGINT);
  EXPECT_EQ(end_after_two(SIGUSR1), 0);
}

}  // namespace
}  // namespace lockstep::train
