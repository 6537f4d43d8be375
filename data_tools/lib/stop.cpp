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
  action.sa_flags = SA_RESTART;  // libraries need not cope with interrupted calls
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

void throw_if_stopped() {
  if (g_stop) {
    throw Error("stopped", "a signal asked for it", "start it again; nothing was left behind");
  }
}

}  // namespace lockstep::tools
