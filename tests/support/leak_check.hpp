#pragma once

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include "lockstep/comm/mpi_session.hpp"

// Open MPI unloads components while it starts and when it ends. What they leave behind then belongs
// to no module, so tests/support/lsan.supp, which goes by the names of modules, cannot tell it from
// our own leaks.

namespace lockstep::test {

/// A session whose start is no part of AddressSanitizer's leak check.
[[nodiscard]] inline comm::MpiSession open_session(int& argc, char**& argv) {
#ifdef __SANITIZE_ADDRESS__
  const struct Unchecked {
    Unchecked() { __lsan_disable(); }
    ~Unchecked() { __lsan_enable(); }
  } unchecked;
#endif
  return comm::MpiSession(argc, argv);
}

/// The leak check, in place of the one at the end of the process.
inline void check_leaks_before_finalize() {
#ifdef __SANITIZE_ADDRESS__
  __lsan_do_leak_check();
#endif
}

}  // namespace lockstep::test
