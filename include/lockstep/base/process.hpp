#pragma once

namespace lockstep {

/// Ignores `signal` unless somebody handles it already, so that the system call behind it fails
/// with an error that can be told: SIGPIPE (EPIPE, the reader has left), SIGXFSZ (EFBIG, a limit on
/// the size of files).
void turn_signal_into_error(int signal) noexcept;

}  // namespace lockstep
