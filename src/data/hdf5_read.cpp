#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "hdf5_call.hpp"
#include "hdf5_file.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/data/shard_reader.hpp"

namespace lockstep::data {
namespace hdf5 {

std::atomic<std::int64_t> g_calls{0};
std::mutex g_mutex;

namespace {
// HDF5 describes a failure from the outermost call inwards: the last entry is the reason.
herr_t keep_innermost(unsigned /*depth*/, const H5E_error2_t* entry, void* text) {
  if (entry->desc != nullptr && *entry->desc != '\0') {
    *static_cast<std::string*>(text) = entry->desc;
  }
  return 0;
}
}  // namespace

std::string take_reason() {
  std::string reason = "no reason given by HDF5";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep_innermost, &reason);
  H5Eclear2(H5E_DEFAULT);
  // A failed system call comes with a paragraph of addresses; what the system said is in quotes.
  constexpr std::string_view kSystem = "error message = '";
  if (const auto at = reason.find(kSystem); at != std::string::npos) {
    const auto begin = at + kSystem.size();
    reason = reason.substr(begin, reason.find('\'', begin) - begin);
  }
  return reason;
}

Hdf5Handle text_type(const std::string& path, std::size_t bytes) {
  auto type = own(checked(path, "make a type", [] { return H5Tcopy(H5T_C_S1); }), H5Tclose);
  checked(path, "size a type", [&] { return H5Tset_size(type.id(), bytes); });
  checked(path, "set UTF-8", [&] { return H5Tset_cset(type.id(), H5T_CSET_UTF8); });
  checked(path, "set padding", [&] { return H5Tset_strpad(type.id(), H5T_STR_NULLPAD); });
  return type;
}

}  // namespace hdf5

using hdf5::checked;
using hdf5::counted;
using hdf5::own;

namespace {

std::vector<std::int64_t> dims_of(const std::string& path, const Hdf5Handle& dataset) {
  const auto space =
      own(checked(path, "get a dataspace", [&] { return H5Dget_space(dataset.id()); }), H5Sclose);
  const int rank =
      checked(path, "get a rank", [&] { return H5Sget_simple_extent_ndims(space.id()); });
  std::vector<hsize_t> extent(static_cast<std::size_t>(rank));
  checked(path, "get an extent",
          [&] { return H5Sget_simple_extent_dims(space.id(), extent.data(), nullptr); });
  return {extent.begin(), extent.end()};
}

DatasetInfo::Kind kind_of(const std::string& path, const Hdf5Handle& type) {
  // H5Tget_class and kin answer with negative enums on failure, so they can be checked alike.
  const auto type_class =
      checked(path, "get a type class", [&] { return static_cast<int>(H5Tget_class(type.id())); });
  if (type_class == H5T_STRING) return DatasetInfo::Kind::kText;
  if (type_class != H5T_INTEGER) return DatasetInfo::Kind::kOther;
  const auto sign =
      checked(path, "get a sign", [&] { return static_cast<int>(H5Tget_sign(type.id())); });
  return sign == H5T_SGN_NONE ? DatasetInfo::Kind::kUnsigned : DatasetInfo::Kind::kSigned;
}

// Whether numbers of more than one byte lie as this machine has them.
bool native_order(const std::string& path, const Hdf5Handle& type) {
  const auto order_of = [&](hid_t id) {
    return checked(path, "get a byte order", [&] { return static_cast<int>(H5Tget_order(id)); });
  };
  return order_of(type.id()) == order_of(H5T_NATIVE_INT32);
}

std::string storage_of(const std::string& path, const Hdf5Handle& dataset) {
  const auto made =
      own(checked(path, "get a creation list", [&] { return H5Dget_create_plist(dataset.id()); }),
          H5Pclose);
  const auto layout =
      checked(path, "get a layout", [&] { return static_cast<int>(H5Pget_layout(made.id())); });
  const int filters =
      checked(path, "count the filters", [&] { return H5Pget_nfilters(made.id()); });
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    std::array<char, 64> name{};
    const auto filter = checked(path, "get a filter", [&] {
      return static_cast<int>(H5Pget_filter2(made.id(), static_cast<unsigned>(i), &flags, &values,
                                             nullptr, name.size(), name.data(), nullptr));
    });
    const auto available =
        checked(path, "look for a filter", [&] { return H5Zfilter_avail(filter); });
    require(available > 0, "cannot read " + path,
            std::string("it uses the HDF5 filter ") + name.data() + " (" + std::to_string(filter) +
                "), which this HDF5 does not have",
            "rewrite it without that filter (h5repack -f NONE)");
  }
  std::string text = layout == H5D_CONTIGUOUS ? "contiguous"
                     : layout == H5D_CHUNKED  ? "chunked"
                     : layout == H5D_COMPACT  ? "compact"
                                              : "virtual";
  if (filters > 0) text += ", filters " + std::to_string(filters);
  if (layout == H5D_CONTIGUOUS &&
      checked(path, "count external files", [&] { return H5Pget_external_count(made.id()); }) > 0) {
    text = "external";
  }
  return text;
}

// Frees the memory HDF5 took for strings of variable length.
struct Reclaim {
  hid_t type;
  hid_t space;
  void* data;
  ~Reclaim() {
    counted(nullptr, [&] { return H5Dvlen_reclaim(type, space, H5P_DEFAULT, data); });
  }
};

}  // namespace

std::int64_t hdf5_call_count() noexcept { return hdf5::g_calls.load(std::memory_order_relaxed); }

bool Hdf5File::has_dataset(const std::string& name) const {
  return checked(path_, "look for " + name,
                 [&] { return H5Lexists(file_.id(), name.c_str(), H5P_DEFAULT); }) > 0;
}

DatasetInfo Hdf5File::info(const std::string& name) const {
  const auto source = dataset(name);
  const auto type =
      own(checked(path_, "get a type", [&] { return H5Dget_type(source.id()); }), H5Tclose);
  DatasetInfo info;
  info.kind = kind_of(path_, type);
  std::size_t bytes = 0;
  checked(path_, "get a size", [&] { return (bytes = H5Tget_size(type.id())) == 0 ? -1 : 0; });
  info.element_bytes = static_cast<std::int64_t>(bytes);
  const bool number =
      info.kind == DatasetInfo::Kind::kSigned || info.kind == DatasetInfo::Kind::kUnsigned;
  info.native_order = !number || info.element_bytes == 1 || native_order(path_, type);
  info.dims = dims_of(path_, source);
  info.storage = storage_of(path_, source);
  if (info.storage == "contiguous") {
    haddr_t offset = HADDR_UNDEF;
    counted(nullptr, [&] {
      offset = H5Dget_offset(source.id());
      return 0;
    });
    if (offset == HADDR_UNDEF) {
      info.storage = "contiguous, not allocated";
    } else {
      info.offset = static_cast<std::int64_t>(offset);
    }
  }
  return info;
}

std::size_t Hdf5File::checked_count(const std::string& name, std::int64_t count) const {
  require(dims_of(path_, dataset(name)) == std::vector<std::int64_t>{count},
          "cannot use " + name + " of " + path_,
          "it is no list of " + std::to_string(count) + " entries", "pack the set again");
  return static_cast<std::size_t>(count);
}

void Hdf5File::read_all(const std::string& name, hid_t type, void* out) const {
  const auto source = dataset(name);
  checked(path_, "read " + name,
          [&] { return H5Dread(source.id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out); });
}

std::vector<std::int32_t> Hdf5File::read_int32(const std::string& name,
                                               std::int64_t entries) const {
  std::vector<std::int32_t> values(checked_count(name, entries));
  read_all(name, H5T_NATIVE_INT32, values.data());
  return values;
}

std::vector<std::uint32_t> Hdf5File::read_uint32(const std::string& name,
                                                 std::int64_t entries) const {
  std::vector<std::uint32_t> values(checked_count(name, entries));
  read_all(name, H5T_NATIVE_UINT32, values.data());
  return values;
}

std::vector<std::string> Hdf5File::read_text(const std::string& name, std::int64_t entries) const {
  const std::size_t count = checked_count(name, entries);
  const auto source = dataset(name);
  const auto type =
      own(checked(path_, "get a type", [&] { return H5Dget_type(source.id()); }), H5Tclose);
  require(kind_of(path_, type) == DatasetInfo::Kind::kText, "cannot read " + name + " of " + path_,
          "it holds no text", "pack the set again");
  std::vector<std::string> values(count);
  const bool variable =
      checked(path_, "look at a type", [&] { return H5Tis_variable_str(type.id()); }) > 0;
  if (variable) {
    std::vector<char*> texts(count, nullptr);
    const auto space =
        own(checked(path_, "get a dataspace", [&] { return H5Dget_space(source.id()); }), H5Sclose);
    read_all(name, type.id(), texts.data());
    const Reclaim reclaim{type.id(), space.id(), texts.data()};
    for (std::size_t i = 0; i < count; ++i) values[i] = texts[i] == nullptr ? "" : texts[i];
    return values;
  }
  const auto bytes = static_cast<std::size_t>(info(name).element_bytes);
  constexpr std::size_t kLargest = std::size_t{1} << 30U;
  require(count == 0 || bytes <= kLargest / count, "cannot use " + name + " of " + path_,
          "it holds more than 1 GiB of text", "pack the set again");
  std::vector<char> packed(count * bytes);
  read_all(name, type.id(), packed.data());
  for (std::size_t i = 0; i < count; ++i) {
    const char* begin = packed.data() + i * bytes;
    values[i].assign(begin, strnlen(begin, bytes));
  }
  return values;
}

Hdf5Rows Hdf5File::open_rows(const std::string& name) const {
  auto source = dataset(name);
  auto dims = dims_of(path_, source);
  return {path_, std::move(source), std::move(dims)};
}

void Hdf5Rows::read(std::int64_t row, std::uint8_t* out) const {
  std::vector<hsize_t> start(dims_.size(), 0);
  std::vector<hsize_t> count(dims_.begin(), dims_.end());
  start[0] = static_cast<hsize_t>(row);
  count[0] = 1;
  const auto space =
      own(checked(path_, "get a dataspace", [&] { return H5Dget_space(dataset_.id()); }), H5Sclose);
  checked(path_, "select a row", [&] {
    return H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(), nullptr, count.data(),
                               nullptr);
  });
  const auto memory = own(
      checked(
          path_, "make a dataspace",
          [&] { return H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr); }),
      H5Sclose);
  checked(path_, "read row " + std::to_string(row), [&] {
    return H5Dread(dataset_.id(), H5T_NATIVE_UINT8, memory.id(), space.id(), H5P_DEFAULT, out);
  });
}

namespace {
// The attribute, checked to hold `count` values of the class asked for.
Hdf5Handle open_attribute(const std::string& path, const Hdf5Handle& file, const std::string& name,
                          H5T_class_t type_class, std::int64_t count) {
  const auto exists = checked(path, "look for the attribute " + name,
                              [&] { return H5Aexists(file.id(), name.c_str()); });
  require(exists > 0, "cannot use " + path, "it has no attribute " + name,
          "only shards made by pack_images (or as in data_tools/FORMAT.md) can be read");
  auto attribute = own(checked(path, "open the attribute " + name,
                               [&] { return H5Aopen(file.id(), name.c_str(), H5P_DEFAULT); }),
                       H5Aclose);
  const auto type =
      own(checked(path, "get a type", [&] { return H5Aget_type(attribute.id()); }), H5Tclose);
  const auto space =
      own(checked(path, "get a dataspace", [&] { return H5Aget_space(attribute.id()); }), H5Sclose);
  const auto points = checked(path, "count the values", [&] {
    return static_cast<std::int64_t>(H5Sget_simple_extent_npoints(space.id()));
  });
  const auto found =
      checked(path, "get a type class", [&] { return static_cast<int>(H5Tget_class(type.id())); });
  require(found == type_class && points == count, "cannot use " + path,
          "its attribute " + name + " has another type or size", "pack the set again");
  return attribute;
}
}  // namespace

std::string Hdf5File::text(const std::string& name) const {
  const auto attribute = open_attribute(path_, file_, name, H5T_STRING, 1);
  const auto type =
      own(checked(path_, "get a type", [&] { return H5Aget_type(attribute.id()); }), H5Tclose);
  if (checked(path_, "look at a type", [&] { return H5Tis_variable_str(type.id()); }) > 0) {
    char* value = nullptr;
    const auto space = own(
        checked(path_, "get a dataspace", [&] { return H5Aget_space(attribute.id()); }), H5Sclose);
    checked(path_, "read the attribute " + name,
            [&] { return H5Aread(attribute.id(), type.id(), &value); });
    const Reclaim reclaim{type.id(), space.id(), &value};
    return value == nullptr ? "" : value;
  }
  std::size_t bytes = 0;
  checked(path_, "get a size", [&] { return (bytes = H5Tget_size(type.id())) == 0 ? -1 : 0; });
  std::string value(bytes, '\0');
  checked(path_, "read the attribute " + name,
          [&] { return H5Aread(attribute.id(), type.id(), value.data()); });
  value.resize(std::strlen(value.c_str()));
  return value;
}

std::int64_t Hdf5File::integer(const std::string& name) const {
  const auto attribute = open_attribute(path_, file_, name, H5T_INTEGER, 1);
  std::int64_t value = 0;
  checked(path_, "read the attribute " + name,
          [&] { return H5Aread(attribute.id(), H5T_NATIVE_INT64, &value); });
  return value;
}

std::vector<double> Hdf5File::doubles(const std::string& name) const {
  const auto attribute = open_attribute(path_, file_, name, H5T_FLOAT, 3);
  std::vector<double> values(3);
  checked(path_, "read the attribute " + name,
          [&] { return H5Aread(attribute.id(), H5T_NATIVE_DOUBLE, values.data()); });
  return values;
}

}  // namespace lockstep::data
