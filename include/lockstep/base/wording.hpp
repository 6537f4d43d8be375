#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

/// "1 shard", "2 shards".
[[nodiscard]] std::string counted(std::int64_t count, const std::string& noun);

/// A loss for people: four decimals, or four digits and an exponent where it has grown beyond all
/// that decimals could tell (a run that diverges).
[[nodiscard]] std::string loss_text(double loss);

/// The shortest text that reads back to the same number, whatever the locale.
[[nodiscard]] std::string number_text(double value);

}  // namespace lockstep
