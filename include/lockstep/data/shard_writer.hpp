#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lockstep/data/shard_format.hpp"

namespace lockstep::data {

/// What a set keeps of a picture's bytes; exact, so sums do not depend on the order.
struct SampleDigest {
  std::uint32_t checksum = 0;          ///< CRC-32
  std::array<std::uint64_t, 3> sum{};  ///< per channel, of byte values
  std::array<std::uint64_t, 3> sum_of_squares{};
};

/// Digest of RGB bytes [H, W, 3].
[[nodiscard]] SampleDigest digest_sample(std::span<const std::uint8_t> rgb) noexcept;

/// Channel mean and standard deviation of many pictures.
class ChannelStatistics {
 public:
  void add(const SampleDigest& digest, std::int64_t pixels) noexcept;
  [[nodiscard]] std::array<double, 3> mean() const noexcept;  ///< values in [0, 1]
  [[nodiscard]] std::array<double, 3> std() const noexcept;   ///< population, values in [0, 1]

 private:
  std::array<std::uint64_t, 3> sum_{};
  std::array<std::uint64_t, 3> sum_of_squares_{};
  std::int64_t pixels_ = 0;
};

struct SetWriterOptions {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<std::string> classes;
  std::int64_t planned_samples = 0;  ///< no more are taken; fewer may come
  std::int64_t shards = 1;           ///< planned_samples are cut evenly into so many
  std::int64_t path_bytes = 1;       ///< of the longest source path
  std::string options_text;          ///< packing options, part of the set id
  PackedFit packed{};                ///< goes into set.json
};

/// Writes a set of shards into an existing, empty folder. The pictures go to their place in the
/// file by pwrite, so that a full disk is a plain error; HDF5 writes the rest. The same calls make
/// the same bytes. Without finish() there is no set.json and so no set.
class SetWriter {
 public:
  SetWriter(std::string folder, SetWriterOptions options);
  ~SetWriter();
  SetWriter(const SetWriter&) = delete;
  SetWriter& operator=(const SetWriter&) = delete;

  /// `rgb` is [height, width, 3]; label < classes.size(); path in UTF-8.
  void append(std::span<const std::uint8_t> rgb, const SampleDigest& digest, std::int32_t label,
              const std::string& path);
  [[nodiscard]] std::int64_t samples() const noexcept;

  /// Completes the shards, syncs them to the disk and writes set.json last. At least one sample.
  SetInfo finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::data
