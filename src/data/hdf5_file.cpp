#include "hdf5_file.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "hdf5_call.hpp"
#include "lockstep/base/check.hpp"

namespace lockstep::data {
namespace {

using hdf5::checked;
using hdf5::counted;
using hdf5::own;
using hdf5::text_type;

Hdf5Handle file_access(const std::string& path, bool writes) {
  auto access = own(
      checked(path, "make a property list", [] { return H5Pcreate(H5P_FILE_ACCESS); }), H5Pclose);
  checked(path, "turn file locking off",
          [&] { return H5Pset_file_locking(access.id(), false, true); });
  if (writes) {
    checked(path, "fix the file format",
            [&] { return H5Pset_libver_bounds(access.id(), H5F_LIBVER_V18, H5F_LIBVER_V18); });
  }
  return access;
}

Hdf5Handle make_space(const std::string& path, const std::vector<std::int64_t>& dims) {
  const std::vector<hsize_t> extent(dims.begin(), dims.end());
  return own(checked(path, "make a dataspace",
                     [&] {
                       return H5Screate_simple(static_cast<int>(extent.size()), extent.data(),
                                               nullptr);
                     }),
             H5Sclose);
}

}  // namespace

Hdf5Handle::~Hdf5Handle() { close(); }

Hdf5Handle::Hdf5Handle(Hdf5Handle&& other) noexcept
    : id_(std::exchange(other.id_, -1)), close_(other.close_) {}

Hdf5Handle& Hdf5Handle::operator=(Hdf5Handle&& other) noexcept {
  if (this != &other) {
    close();
    id_ = std::exchange(other.id_, -1);
    close_ = other.close_;
  }
  return *this;
}

bool Hdf5Handle::close() noexcept {
  if (id_ < 0) return true;
  const hid_t id = std::exchange(id_, -1);
  return counted(nullptr, [&] { return close_(id); }) >= 0;
}

Hdf5File Hdf5File::create(const std::string& path) {
  const auto access = file_access(path, true);
  const auto made = own(
      checked(path, "make a property list", [] { return H5Pcreate(H5P_FILE_CREATE); }), H5Pclose);
  checked(path, "leave times out", [&] { return H5Pset_obj_track_times(made.id(), false); });
  return {
      path,
      own(checked(path, "create the file",
                  [&] { return H5Fcreate(path.c_str(), H5F_ACC_EXCL, made.id(), access.id()); }),
          H5Fclose)};
}

Hdf5File Hdf5File::open_read(const std::string& path) {
  require(std::filesystem::exists(path), "cannot open " + path, "no such file",
          "copy the whole set again, or pack it again");
  require(checked(path, "look at the file", [&] { return H5Fis_hdf5(path.c_str()); }) > 0,
          "cannot open " + path, "it is not an HDF5 file",
          "copy the whole set again, or pack it again");
  const auto access = file_access(path, false);
  return {path, own(checked(path, "open the file",
                            [&] { return H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.id()); }),
                    H5Fclose)};
}

Hdf5File Hdf5File::open_write(const std::string& path) {
  const auto access = file_access(path, true);
  return {path, own(checked(path, "open the file",
                            [&] { return H5Fopen(path.c_str(), H5F_ACC_RDWR, access.id()); }),
                    H5Fclose)};
}

Hdf5Handle Hdf5File::dataset(const std::string& name) const {
  return own(checked(path_, "open the dataset " + name,
                     [&] { return H5Dopen2(file_.id(), name.c_str(), H5P_DEFAULT); }),
             H5Dclose);
}

void Hdf5File::create_dataset(const std::string& name, hid_t type,
                              const std::vector<std::int64_t>& dims) {
  const auto space = make_space(path_, dims);
  const auto made =
      own(checked(path_, "make a property list", [] { return H5Pcreate(H5P_DATASET_CREATE); }),
          H5Pclose);
  checked(path_, "leave times out", [&] { return H5Pset_obj_track_times(made.id(), false); });
  checked(path_, "set the layout", [&] { return H5Pset_layout(made.id(), H5D_CONTIGUOUS); });
  checked(path_, "allocate early",
          [&] { return H5Pset_alloc_time(made.id(), H5D_ALLOC_TIME_EARLY); });
  checked(path_, "leave the fill out",
          [&] { return H5Pset_fill_time(made.id(), H5D_FILL_TIME_NEVER); });
  auto dataset = own(checked(path_, "create the dataset " + name,
                             [&] {
                               return H5Dcreate2(file_.id(), name.c_str(), type, space.id(),
                                                 H5P_DEFAULT, made.id(), H5P_DEFAULT);
                             }),
                     H5Dclose);
  require(dataset.close(), "HDF5 cannot create " + name + " in " + path_, "closing it failed",
          "look at the free space");
}

void Hdf5File::create_uint8(const std::string& name, const std::vector<std::int64_t>& dims) {
  create_dataset(name, H5T_STD_U8LE, dims);
}
void Hdf5File::create_int32(const std::string& name, std::int64_t count) {
  create_dataset(name, H5T_STD_I32LE, {count});
}
void Hdf5File::create_uint32(const std::string& name, std::int64_t count) {
  create_dataset(name, H5T_STD_U32LE, {count});
}
void Hdf5File::create_text(const std::string& name, std::int64_t count, std::int64_t bytes) {
  create_dataset(name, text_type(path_, static_cast<std::size_t>(bytes)).id(), {count});
}

void Hdf5File::write_numbers(const std::string& name, hid_t type, std::int64_t count,
                             const void* data) {
  static_cast<void>(checked_count(name, count));
  const auto target = dataset(name);
  checked(path_, "write " + name,
          [&] { return H5Dwrite(target.id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data); });
}

void Hdf5File::write_int32(const std::string& name, const std::vector<std::int32_t>& values) {
  write_numbers(name, H5T_NATIVE_INT32, static_cast<std::int64_t>(values.size()), values.data());
}
void Hdf5File::write_uint32(const std::string& name, const std::vector<std::uint32_t>& values) {
  write_numbers(name, H5T_NATIVE_UINT32, static_cast<std::int64_t>(values.size()), values.data());
}

void Hdf5File::write_text(const std::string& name, const std::vector<std::string>& values) {
  const auto bytes = static_cast<std::size_t>(info(name).element_bytes);
  std::vector<char> packed(values.size() * bytes, '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    require(values[i].size() <= bytes, "cannot write " + name + " of " + path_,
            "a text is longer than " + std::to_string(bytes) + " bytes", "report this as a bug");
    std::copy(values[i].begin(), values[i].end(), packed.begin() + static_cast<long>(i * bytes));
  }
  write_numbers(name, text_type(path_, bytes).id(), static_cast<std::int64_t>(values.size()),
                packed.data());
}

void Hdf5File::set_attribute(const std::string& name, hid_t type, hid_t memory_type,
                             std::int64_t count, const void* data) {
  const auto exists = checked(path_, "look for the attribute " + name,
                              [&] { return H5Aexists(file_.id(), name.c_str()); });
  const auto space = make_space(path_, {count});
  const auto scalar =
      own(checked(path_, "make a dataspace", [] { return H5Screate(H5S_SCALAR); }), H5Sclose);
  const auto attribute = own(checked(path_, "create the attribute " + name,
                                     [&] {
                                       return exists > 0
                                                  ? H5Aopen(file_.id(), name.c_str(), H5P_DEFAULT)
                                                  : H5Acreate2(file_.id(), name.c_str(), type,
                                                               (count == 1 ? scalar : space).id(),
                                                               H5P_DEFAULT, H5P_DEFAULT);
                                     }),
                             H5Aclose);
  checked(path_, "write the attribute " + name,
          [&] { return H5Awrite(attribute.id(), memory_type, data); });
}

void Hdf5File::set_text(const std::string& name, const std::string& value) {
  const auto type = text_type(path_, value.size());
  set_attribute(name, type.id(), type.id(), 1, value.data());
}
void Hdf5File::set_int(const std::string& name, std::int64_t value) {
  set_attribute(name, H5T_STD_I64LE, H5T_NATIVE_INT64, 1, &value);
}
void Hdf5File::set_doubles(const std::string& name, const std::vector<double>& values) {
  set_attribute(name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, static_cast<std::int64_t>(values.size()),
                values.data());
}

void Hdf5File::close() {
  std::string reason;
  const bool flushed = counted(&reason, [&] { return H5Fflush(file_.id(), H5F_SCOPE_LOCAL); }) >= 0;
  const bool closed = file_.close();
  require(flushed && closed, "HDF5 cannot finish " + path_, flushed ? "closing failed" : reason,
          "look at the free space");
}

}  // namespace lockstep::data
