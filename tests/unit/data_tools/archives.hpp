#pragma once

#include <zlib.h>

#include <cstdio>
#include <cstring>
#include <string>

/// Archives for tests, as bytes in memory.
namespace lockstep::tools {

/// A file of a tar archive: header, contents, and zeros up to a whole block. `kind` is the type
/// flag of the format: '0' a file, '5' a folder, '2' a link.
inline std::string tar_entry(const std::string& name, const std::string& contents,
                             char kind = '0') {
  std::string header(512, '\0');
  name.copy(header.data(), 100);
  const auto octal = [&](std::size_t at, std::size_t width, unsigned long value) {
    std::snprintf(header.data() + at, width, "%0*lo", static_cast<int>(width - 1), value);
  };
  octal(100, 8, 0644);
  octal(108, 8, 0);
  octal(116, 8, 0);
  octal(124, 12, contents.size());
  octal(136, 12, 0);
  header[156] = kind;
  std::memcpy(header.data() + 257, "ustar\00000", 8);
  std::memset(header.data() + 148, ' ', 8);  // the checksum counts itself as blanks
  unsigned long sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  octal(148, 7, sum);
  return header + contents + std::string((512 - contents.size() % 512) % 512, '\0');
}

inline std::string tar_end() { return std::string(1024, '\0'); }

inline std::string gzipped(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace lockstep::tools
