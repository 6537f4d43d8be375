#pragma once

#include <cstdint>
#include <string>

/// A set keeps one file open for each of its shards, and a process may keep only so many.
namespace lockstep::data {

/// Makes room for the shards of a set beside the files that are open already: raises the soft limit
/// on open files towards the hard one where it is too low. Throws Error, as below, when the hard
/// limit is too low, too.
void allow_open_shards(const std::string& folder, std::int64_t shards);

/// The error of a set that has more shards than files may be open.
[[noreturn]] void too_many_shards(const std::string& folder, std::int64_t shards);

}  // namespace lockstep::data
