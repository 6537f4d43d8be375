#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Options that choose parameters by the beginnings of their names.
namespace lockstep {

/// The items of a list separated by commas, without the spaces around them; empty ones are left
/// out.
[[nodiscard]] std::vector<std::string> split_at_commas(const std::string& text);

/// What to do about a beginning that none of the names has: the nearest beginning that ends at a
/// dot, or the nearest name, else how names begin.
[[nodiscard]] std::string prefix_hint(std::string_view prefix,
                                      const std::vector<std::string>& names);

}  // namespace lockstep
