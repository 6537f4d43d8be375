#pragma once

#include <string>

namespace lockstep {

/// The version of the project, "MAJOR.MINOR.PATCH".
[[nodiscard]] std::string version();

/// One line: version, build type, compiler, LibTorch version it was built against, with CUDA or
/// for the CPU. Fixed at configure time.
[[nodiscard]] std::string build_summary();

/// Whether this program was built with CUDA and NCCL.
[[nodiscard]] bool built_with_cuda();

}  // namespace lockstep
