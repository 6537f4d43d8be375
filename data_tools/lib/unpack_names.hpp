#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::tools {

/// A text as the name of a file or folder anywhere: no separator, control character or what other
/// systems refuse, no dot at its beginning, UTF-8, at most 180 bytes. All that is wrong becomes _.
/// "" stays "".
[[nodiscard]] std::string safe_name(const std::string& text);

/// The file "CLASS/NAME.png" of every sample of a set. Class and name are made of the set's class
/// and source path: without the class folder and the suffix of a picture, deeper folders joined by
/// _. Of several that are equal (letters in upper and lower case are, as on some systems) all but
/// the first get their number added. A sample without a source path is named by its number.
[[nodiscard]] std::vector<std::string> picture_files(const std::vector<std::string>& classes,
                                                     const std::vector<std::int32_t>& labels,
                                                     const std::vector<std::string>& sources);

}  // namespace lockstep::tools
