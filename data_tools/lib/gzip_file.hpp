#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

struct gzFile_s;

namespace lockstep::tools {

/// A file, unpacked while it is read when it is gzip's (by its content). The checksums that gzip
/// keeps are compared: libarchive's own gzip reader passes over them.
class GzipFile {
 public:
  /// Throws UsageError when it cannot be opened.
  explicit GzipFile(std::string path);
  ~GzipFile();
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  /// Reads until `out` is full or the file ends; how many bytes. Throws Error naming the file when
  /// it is damaged or cut off, or a stop was requested.
  [[nodiscard]] std::size_t read(std::span<std::uint8_t> out);

 private:
  std::string path_;
  gzFile_s* file_;
};

}  // namespace lockstep::tools
