#pragma once

#include <string>

namespace lockstep {

/// The version of the project, "MAJOR.MINOR.PATCH".
[[nodiscard]] std::string version();

/// One line: version, build type, compiler, LibTorch version it was built against, with CUDA and
/// NCCL (versions) or for the CPU. Fixed at configure time.
[[nodiscard]] std::string build_summary();

/// "Boost 1.74": its headers, at build time.
[[nodiscard]] std::string boost_version();

/// Whether this program was built with CUDA and NCCL.
[[nodiscard]] bool built_with_cuda();

}  // namespace lockstep
