#pragma once

#include <map>
#include <set>
#include <string>

#include "lockstep/base/whole_file.hpp"

namespace lockstep::tools {

/// The files that have one of `names`: those of a folder, or those of a tar archive (plain or
/// gzip's), in whatever folder of it. Only regular files count. Throws UsageError when there is no
/// `input`, Error when it cannot be read to its end, is damaged, or has two files of one name or
/// one that is larger than 320 MiB.
[[nodiscard]] std::map<std::string, Bytes> read_named_files(const std::string& input,
                                                            const std::set<std::string>& names);

}  // namespace lockstep::tools
