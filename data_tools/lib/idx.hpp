#pragma once

#include <string>
#include <vector>

#include "lib/sample_source.hpp"

namespace lockstep::tools {

/// The pictures of a pair of IDX files (the format of MNIST), plain or gzip's: unsigned bytes of
/// shape [n, height, width], grey, or [n, height, width, 3], RGB; and labels [n]. All of them are
/// read into memory. Throws Error naming the file: another type or shape, sizes that the file does
/// not have, other numbers of pictures and labels, a label beyond the classes.
[[nodiscard]] SampleSource read_idx(const std::string& images, const std::string& labels,
                                    const std::vector<std::string>& classes);

}  // namespace lockstep::tools
