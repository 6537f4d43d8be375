#pragma once

#include <string>
#include <string_view>

namespace lockstep {

/// Why a text from outside is not handed to the JSON library: a zero byte, where its parser stops
/// and lets pass what follows, or brackets nested so deeply that printing a value would overflow
/// the stack. Empty when it may be; whether it is JSON the library tells.
[[nodiscard]] std::string json_fault(std::string_view text);

}  // namespace lockstep
