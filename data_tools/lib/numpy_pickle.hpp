#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/base/restricted_pickle.hpp"

namespace lockstep::tools {

/// The names by which numpy's arrays are pickled, of its versions 1 and 2, in all protocols.
[[nodiscard]] const PickleRules& numpy_rules();

/// An array of unsigned bytes (numpy.uint8) in a pickle.
struct PickledArray {
  std::vector<std::uint64_t> shape;
  std::string_view bytes;  ///< as many as the shape has values
  bool column_major = false;
};

/// The array that a value describes; `what` names it in errors. Throws Error when it describes
/// anything else.
[[nodiscard]] PickledArray pickled_array(const Pickle& pickle, const PickleValue& value,
                                         const std::string& what);

}  // namespace lockstep::tools
