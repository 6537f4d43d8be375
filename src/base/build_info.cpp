#include "lockstep/base/build_info.hpp"

#include <algorithm>
#include <boost/version.hpp>

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
#ifdef LOCKSTEP_WITH_CUDA
#define LOCKSTEP_DEVICES "with CUDA " LOCKSTEP_CUDA_VERSION " and NCCL " LOCKSTEP_NCCL_VERSION
#else
#define LOCKSTEP_WITH_CUDA 0
#define LOCKSTEP_DEVICES "for the CPU"
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
         ", LibTorch " + LOCKSTEP_TORCH_VERSION + ", " + LOCKSTEP_DEVICES;
}

std::string boost_version() {
  std::string number = BOOST_LIB_VERSION;  // 1_74
  std::replace(number.begin(), number.end(), '_', '.');
  return "Boost " + number;
}

}  // namespace lockstep
