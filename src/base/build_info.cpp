#include "lockstep/base/build_info.hpp"

// The build system defines these for this file alone; a build without it still says so honestly.
#ifndef LOCKSTEP_VERSION
#define LOCKSTEP_VERSION "0.0.0"
#endif
#ifndef LOCKSTEP_TORCH_VERSION
#define LOCKSTEP_TORCH_VERSION "unknown"
#endif
#ifndef LOCKSTEP_BUILD_TYPE
#define LOCKSTEP_BUILD_TYPE "unknown"
#endif
#ifndef LOCKSTEP_WITH_CUDA
#define LOCKSTEP_WITH_CUDA 0
#endif

namespace lockstep {
namespace {

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#elif defined(__GNUC__)
constexpr const char* kCompiler = "g++ " __VERSION__;
#else
constexpr const char* kCompiler = "unknown compiler";
#endif

}  // namespace

std::string version() { return LOCKSTEP_VERSION; }

bool built_with_cuda() { return LOCKSTEP_WITH_CUDA != 0; }

std::string build_summary() {
  return "lockstep " + version() + ", " + LOCKSTEP_BUILD_TYPE + " build, " + kCompiler +
         ", LibTorch " + LOCKSTEP_TORCH_VERSION +
         (built_with_cuda() ? ", with CUDA and NCCL" : ", for the CPU");
}

}  // namespace lockstep
