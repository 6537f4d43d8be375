#pragma once

#include <hdf5.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace lockstep::data {

/// Layouts of the pictures that pack_images does not write.
enum class Rewrite { kChunked, kCompressed, kExternal, kCompact };

/// Writes the pictures of a shard anew, in another layout. Straight HDF5, nothing of ours.
inline void rewrite_images(const std::string& path, Rewrite layout) {
  const auto check = [](auto result) {
    if (result < 0) throw std::runtime_error("HDF5 refused");
    return result;
  };
  const hid_t access = check(H5Pcreate(H5P_FILE_ACCESS));
  check(H5Pset_file_locking(access, false, true));
  const hid_t file = check(H5Fopen(path.c_str(), H5F_ACC_RDWR, access));
  hid_t images = check(H5Dopen2(file, "images", H5P_DEFAULT));
  const hid_t space = check(H5Dget_space(images));
  hsize_t dims[4];
  check(H5Sget_simple_extent_dims(space, dims, nullptr));
  std::vector<std::uint8_t> bytes(dims[0] * dims[1] * dims[2] * dims[3]);
  check(H5Dread(images, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()));
  check(H5Dclose(images));
  check(H5Ldelete(file, "images", H5P_DEFAULT));

  const hid_t made = check(H5Pcreate(H5P_DATASET_CREATE));
  const hsize_t chunk[4] = {2, dims[1], dims[2], 3};
  if (layout == Rewrite::kChunked || layout == Rewrite::kCompressed) {
    check(H5Pset_chunk(made, 4, chunk));
    if (layout == Rewrite::kCompressed) check(H5Pset_deflate(made, 6));
  } else if (layout == Rewrite::kExternal) {
    check(H5Pset_external(made, (path + ".raw").c_str(), 0, bytes.size()));
  } else {
    check(H5Pset_layout(made, H5D_COMPACT));
  }
  images = check(H5Dcreate2(file, "images", H5T_STD_U8LE, space, H5P_DEFAULT, made, H5P_DEFAULT));
  check(H5Dwrite(images, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()));
  check(H5Dclose(images));
  check(H5Pclose(made));
  check(H5Sclose(space));
  check(H5Fclose(file));
  check(H5Pclose(access));
}

}  // namespace lockstep::data
