#pragma once

#include <string>
#include <vector>

namespace lockstep::tools {

/// Throws UsageError when `output` is or lies in one of the folders `inputs`, through links or not:
/// it would be taken for a part of the input the next time. `place` is what the command line calls
/// them.
void check_outside(const std::vector<std::string>& inputs, const std::string& output,
                   const std::string& place);

/// What stands before the paths of each folder's files in a set: "" for a single folder, else the
/// end of the folder's path, of as many components as it takes to tell all of them apart, and "/":
/// "a/photos/" and "b/photos/". No file has the same path in two of them. Throws UsageError when
/// one folder is another or lies in it, or a name cannot be stored.
[[nodiscard]] std::vector<std::string> name_folders(const std::vector<std::string>& folders);

}  // namespace lockstep::tools
