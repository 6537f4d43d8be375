#include "lockstep/base/process.hpp"

#include <csignal>

namespace lockstep {

void turn_signal_into_error(int signal) noexcept {
  struct sigaction action {};
  if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) {
    action.sa_handler = SIG_IGN;
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace lockstep
