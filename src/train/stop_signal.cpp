#include "lockstep/train/stop_signal.hpp"

#include <array>
#include <cstddef>

namespace lockstep::train {
namespace {

constexpr std::array<int, 3> kSignals{SIGUSR1, SIGTERM, SIGINT};

// All that a handler may touch.
volatile std::sig_atomic_t signal_came = 0;

extern "C" void note_signal(int /*signal*/) { signal_came = 1; }

}  // namespace

StopSignal::StopSignal() {
  signal_came = 0;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction action {};
    action.sa_handler = note_signal;
    action.sa_flags = SA_RESTART;
    if (kSignals[i] != SIGUSR1) {
      action.sa_flags |= static_cast<int>(SA_RESETHAND);
    }
    ::sigaction(kSignals[i], &action, &before_[i]);
  }
}

StopSignal::~StopSignal() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &before_[i], nullptr);
  }
}

bool StopSignal::requested() const noexcept { return signal_came != 0; }

}  // namespace lockstep::train
