#pragma once

#include <string>

#include "lockstep/base/check.hpp"

namespace lockstep {

/// The message of the UsageError that `call` throws, or "(no error)".
template <typename Call>
std::string error_text(Call call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "(no error)";
}

}  // namespace lockstep
