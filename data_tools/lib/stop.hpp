#pragma once

namespace lockstep::tools {

/// Makes SIGINT, SIGTERM and SIGHUP a request to stop.
void catch_stop_signals();
/// Throws Error when a stop was requested.
void throw_if_stopped();

}  // namespace lockstep::tools
