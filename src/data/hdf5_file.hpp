#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::data {

/// Owns one HDF5 identifier.
class Hdf5Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Hdf5Handle() = default;
  Hdf5Handle(hid_t id, Close closer) noexcept : id_(id), close_(closer) {}
  ~Hdf5Handle();
  Hdf5Handle(Hdf5Handle&& other) noexcept;
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept;
  [[nodiscard]] hid_t id() const noexcept { return id_; }
  /// Closes now; false when HDF5 could not (data not written, say).
  bool close() noexcept;

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// What a dataset is and where its bytes lie.
struct DatasetInfo {
  enum class Kind { kUnsigned, kSigned, kText, kOther };
  Kind kind = Kind::kOther;
  std::int64_t element_bytes = 0;
  bool native_order = true;  ///< numbers lie in this machine's byte order
  std::vector<std::int64_t> dims;
  /// Byte offset in the file when the elements lie there one after the other, without filters, in
  /// one piece and allocated; -1 otherwise.
  std::int64_t offset = -1;
  std::string storage;  ///< "contiguous", "chunked", "chunked, filters 1", "external", ...
};

/// A dataset of bytes held open, read row by row whatever its layout. Thread-safe.
class Hdf5Rows {
 public:
  Hdf5Rows(std::string path, Hdf5Handle dataset, std::vector<std::int64_t> dims)
      : path_(std::move(path)), dataset_(std::move(dataset)), dims_(std::move(dims)) {}
  void read(std::int64_t row, std::uint8_t* out) const;

 private:
  std::string path_;
  Hdf5Handle dataset_;
  std::vector<std::int64_t> dims_;
};

/// An HDF5 file. Every HDF5 call of the project is made here: one at a time over all threads (the
/// library keeps global state), counted, and checked; errors name the file and HDF5's own reason.
/// Files are opened without HDF5's locks and made without times, so equal calls give equal bytes.
class Hdf5File {
 public:
  [[nodiscard]] static Hdf5File create(const std::string& path);  ///< must not exist
  [[nodiscard]] static Hdf5File open_read(const std::string& path);
  [[nodiscard]] static Hdf5File open_write(const std::string& path);

  /// Contiguous, allocated at once, never filled.
  void create_uint8(const std::string& name, const std::vector<std::int64_t>& dims);
  void create_int32(const std::string& name, std::int64_t count);
  void create_uint32(const std::string& name, std::int64_t count);
  /// UTF-8 strings of up to `bytes` bytes, padded with zeros.
  void create_text(const std::string& name, std::int64_t count, std::int64_t bytes);

  void write_int32(const std::string& name, const std::vector<std::int32_t>& values);
  void write_uint32(const std::string& name, const std::vector<std::uint32_t>& values);
  void write_text(const std::string& name, const std::vector<std::string>& values);

  /// Attributes of the root group; writing again replaces the value, of the same size.
  void set_text(const std::string& name, const std::string& value);
  void set_int(const std::string& name, std::int64_t value);
  void set_doubles(const std::string& name, const std::vector<double>& values);
  [[nodiscard]] std::string text(const std::string& name) const;
  [[nodiscard]] std::int64_t integer(const std::string& name) const;
  /// Three values, one per channel.
  [[nodiscard]] std::vector<double> doubles(const std::string& name) const;

  [[nodiscard]] bool has_dataset(const std::string& name) const;
  [[nodiscard]] DatasetInfo info(const std::string& name) const;
  [[nodiscard]] std::vector<std::int32_t> read_int32(const std::string& name,
                                                     std::int64_t count) const;
  /// `count` values; throws when the dataset has another number, before any memory is taken.
  [[nodiscard]] std::vector<std::uint32_t> read_uint32(const std::string& name,
                                                       std::int64_t count) const;
  [[nodiscard]] std::vector<std::string> read_text(const std::string& name,
                                                   std::int64_t count) const;
  [[nodiscard]] Hdf5Rows open_rows(const std::string& name) const;

  /// Flushes and closes; throws when that fails. The destructor closes too and says nothing.
  void close();

 private:
  Hdf5File(std::string path, Hdf5Handle file) : path_(std::move(path)), file_(std::move(file)) {}
  [[nodiscard]] Hdf5Handle dataset(const std::string& name) const;
  void create_dataset(const std::string& name, hid_t type, const std::vector<std::int64_t>& dims);
  void set_attribute(const std::string& name, hid_t type, hid_t memory_type, std::int64_t count,
                     const void* data);
  void write_numbers(const std::string& name, hid_t type, std::int64_t count, const void* data);
  [[nodiscard]] std::size_t checked_count(const std::string& name, std::int64_t count) const;
  void read_all(const std::string& name, hid_t type, void* out) const;

  std::string path_;
  Hdf5Handle file_;
};

}  // namespace lockstep::data
