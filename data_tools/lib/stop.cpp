#include "lib/stop.hpp"

#include <signal.h>

#include <atomic>

#include "lockstep/base/check.hpp"

namespace lockstep::tools {
namespace {

std::atomic<bool> g_stop{false};

}  // namespace

void catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { g_stop = true; };
  // Libraries need not cope with interrupted calls. The second signal ends the process at once,
  // also when a thread waits for a file system that does not answer.
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

void throw_if_stopped() {
  if (g_stop) {
    throw Error("stopped", "a signal asked for it", "start it again; nothing was left behind");
  }
}

}  // namespace lockstep::tools
