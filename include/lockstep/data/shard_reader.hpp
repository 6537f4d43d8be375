#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/data/picture_source.hpp"
#include "lockstep/data/shard_format.hpp"

namespace lockstep::data {

/// Calls into HDF5 that this process made so far (all of them go through one wrapper).
[[nodiscard]] std::int64_t hdf5_call_count() noexcept;

/// A validated set of shards, open for reading. Opening checks set.json and every shard (format,
/// set id, counts, native type and byte order, place of the data, labels within the classes) and
/// reads labels into memory; from then on no HDF5 call is made for contiguous storage: samples are
/// read with pread, from any number of threads. Other layouts are read through HDF5 under a lock,
/// and slow_shards() says so.
class ShardSet : public PictureSource {
 public:
  /// Throws Error naming the file and what is wrong with it.
  explicit ShardSet(const std::string& folder);
  ~ShardSet() override;
  ShardSet(ShardSet&&) noexcept;
  ShardSet& operator=(ShardSet&&) noexcept;

  [[nodiscard]] const SetInfo& info() const noexcept;
  [[nodiscard]] const std::string& folder() const noexcept;
  [[nodiscard]] std::int64_t size() const noexcept override { return info().samples; }
  [[nodiscard]] std::int64_t height() const noexcept override { return info().height; }
  [[nodiscard]] std::int64_t width() const noexcept override { return info().width; }
  /// By sample id (position in the set, shards in order).
  [[nodiscard]] const std::vector<std::int32_t>& labels() const noexcept override;
  [[nodiscard]] const std::string& name() const noexcept override { return folder(); }
  /// Throws Error (file, sample) on a short read or an error of the system.
  void read(std::int64_t id, std::uint8_t* out) const override;

  /// CRC-32 stored for sample `id` (reads it through pread or HDF5 once, at the first call).
  [[nodiscard]] std::uint32_t stored_checksum(std::int64_t id) const;
  /// Source path of every sample, read through HDF5.
  [[nodiscard]] std::vector<std::string> source_paths() const;
  /// Shards whose pictures have to be read through HDF5 (chunked, compressed, ...).
  [[nodiscard]] std::int64_t slow_shards() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// XXH3-128 over the labels of all samples, 32 hex digits.
[[nodiscard]] std::string labels_digest(const ShardSet& set);

}  // namespace lockstep::data
