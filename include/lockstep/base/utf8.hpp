#pragma once

#include <string>
#include <string_view>

namespace lockstep {

/// Whether a text is well-formed UTF-8 (RFC 3629).
[[nodiscard]] bool is_utf8(std::string_view text);

/// The text with every byte that is no printable ASCII as \xNN.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace lockstep
