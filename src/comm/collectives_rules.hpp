#pragma once

#include <string_view>

#include "lockstep/comm/collectives.hpp"

namespace lockstep::comm {

/// What every implementation refuses alike, so that a mistake shows on one rank already.

[[nodiscard]] constexpr std::string_view name_of(DataType type) noexcept {
  switch (type) {
    case DataType::kFloat32:
      return "float32";
    case DataType::kFloat64:
      return "float64";
    case DataType::kInt64:
      return "int64";
    case DataType::kByte:
      return "byte";
  }
  return "unknown";
}

inline void require_reducible(DataType type) {
  require(type != DataType::kByte, "bytes cannot be reduced",
          "a sum over ranks would overflow a byte without notice, and MPICH 4.0 compares unsigned "
          "numbers as signed ones",
          "use int64");
}

inline void require_root(const World& world, int root) {
  if (root >= 0 && root < world.size) return;
  throw Error("there is no rank " + std::to_string(root) + " to broadcast from",
              "the world has " + std::to_string(world.size) + " ranks",
              "name a root from 0 to the world size less one");
}

}  // namespace lockstep::comm
