#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::data {

/// Pictures of one size, by sample id from 0, as 8-bit RGB: what a Loader reads.
class PictureSource {
 public:
  virtual ~PictureSource() = default;
  [[nodiscard]] virtual std::int64_t size() const noexcept = 0;  ///< samples
  [[nodiscard]] virtual std::int64_t height() const noexcept = 0;
  [[nodiscard]] virtual std::int64_t width() const noexcept = 0;
  [[nodiscard]] std::int64_t sample_bytes() const noexcept { return height() * width() * 3; }
  /// Label of every sample; -1 where it is not known.
  [[nodiscard]] virtual const std::vector<std::int32_t>& labels() const noexcept = 0;
  /// How errors name the source.
  [[nodiscard]] virtual const std::string& name() const noexcept = 0;
  /// Reads the picture of sample `id` into `out` (sample_bytes() bytes, H x W x RGB). Thread-safe.
  /// Throws Error naming the sample.
  virtual void read(std::int64_t id, std::uint8_t* out) const = 0;

 protected:
  PictureSource() = default;
  PictureSource(const PictureSource&) = default;
  PictureSource(PictureSource&&) = default;
  PictureSource& operator=(const PictureSource&) = default;
  PictureSource& operator=(PictureSource&&) = default;
};

}  // namespace lockstep::data
