#pragma once

#include <string>

namespace lockstep::data {

/// The libraries that data is read with, as they are at run time: "HDF5 1.10.8, libpng 1.6.39,
/// ...".
[[nodiscard]] std::string library_versions();

}  // namespace lockstep::data
