// A part of Lockstep that needs no LibTorch, alone: the learning rates of a short run.

#include <cstdio>

#include "lockstep/optim/schedule.hpp"

int main() {
  const lockstep::optim::ScheduleOptions options{
      .name = "cosine", .lr = 0.1, .total_updates = 10, .warmup_updates = 2};
  for (int update = 0; update < 10; ++update) {
    std::printf("%d %.4f\n", update, lockstep::optim::learning_rate(options, update));
  }
  return lockstep::optim::learning_rate(options, 2) == options.lr ? 0 : 1;
}
