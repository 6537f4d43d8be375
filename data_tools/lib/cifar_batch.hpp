#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/base/whole_file.hpp"
#include "lockstep/data/image_decode.hpp"

namespace lockstep::tools {

inline constexpr std::int64_t kCifarEdge = 32;
inline constexpr std::size_t kCifarPixels = 1024;
inline constexpr std::size_t kCifarValues = 3 * kCifarPixels;  ///< planes red, green, blue

/// The records of one file of CIFAR, as they lie in it.
struct CifarBatch {
  std::string file;                      ///< "data_batch_1.bin"
  std::vector<std::int64_t> labels;      ///< one for each record, not compared with the classes yet
  std::vector<std::string> names;        ///< of the original pictures; empty when the file has none
  const std::uint8_t* pixels = nullptr;  ///< value v of record r is pixels[r * record + v * value]
  std::size_t record = 0;
  std::size_t value = 1;
  std::shared_ptr<const void> owner;  ///< of the pixels

  [[nodiscard]] data::Image picture(std::size_t index) const;
};

/// Of the binary version: records of `label_bytes` bytes, of which the one at `label_at` is taken,
/// and the pixels. Throws Error naming the file.
[[nodiscard]] CifarBatch read_binary_batch(const std::string& file, Bytes bytes,
                                           std::size_t label_bytes, std::size_t label_at);

/// Of the python version: a pickled dict with data, filenames and the labels under `label_key`.
/// Throws Error naming the file.
[[nodiscard]] CifarBatch read_pickled_batch(const std::string& file, Bytes bytes,
                                            std::string_view label_key);

/// The names under a key of a pickled dict. Throws Error naming the file.
[[nodiscard]] std::vector<std::string> read_pickled_names(const std::string& file, Bytes bytes,
                                                          std::string_view key);

}  // namespace lockstep::tools
