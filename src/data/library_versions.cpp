#include "lockstep/data/library_versions.hpp"

#include <hdf5.h>
#include <png.h>
#include <xxhash.h>
#include <zlib.h>

#include <cstdio>
// jpeglib.h wants stdio before it.
#include <jpeglib.h>

namespace lockstep::data {
namespace {

#define LOCKSTEP_TEXT_OF(value) #value
#define LOCKSTEP_TEXT(value) LOCKSTEP_TEXT_OF(value)
#ifdef LIBJPEG_TURBO_VERSION
constexpr const char* kJpeg = "libjpeg-turbo " LOCKSTEP_TEXT(LIBJPEG_TURBO_VERSION);
#else
constexpr const char* kJpeg = "libjpeg " LOCKSTEP_TEXT(JPEG_LIB_VERSION);
#endif
constexpr const char* kXxHash = "xxHash " LOCKSTEP_TEXT(XXH_VERSION_MAJOR) "." LOCKSTEP_TEXT(
    XXH_VERSION_MINOR) "." LOCKSTEP_TEXT(XXH_VERSION_RELEASE);

}  // namespace

std::string library_versions() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  H5get_libversion(&major, &minor, &release);
  return "HDF5 " + std::to_string(major) + "." + std::to_string(minor) + "." +
         std::to_string(release) + ", " + kJpeg + ", libpng " + png_get_libpng_ver(nullptr) +
         ", zlib " + zlibVersion() + ", " + kXxHash;
}

}  // namespace lockstep::data
