#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/data/image_decode.hpp"
#include "lockstep/data/image_resize.hpp"
#include "lockstep/data/picture_source.hpp"

namespace lockstep::data {

/// Whether a name ends as those of pictures do (.jpg, .PNG, .webp, ...).
[[nodiscard]] bool has_picture_suffix(const std::string& name);

/// The format of a file by its first bytes; nothing when they cannot be read. Never waits, whatever
/// the file is.
[[nodiscard]] std::optional<ImageFormat> sniff_format(const std::string& path);

/// The picture files that a path stands for: itself, or all in a folder and the folders below it,
/// in byte order of their paths. A file is a picture by its suffix or, whatever that is, by the
/// first bytes of a JPEG or PNG; hidden files and folders are passed over, links are followed but
/// not in circles. Throws UsageError when there is nothing, Error when a folder cannot be read.
[[nodiscard]] std::vector<std::string> list_pictures(const std::string& path);

/// The bytes of a picture file. Throws ImageError naming it.
[[nodiscard]] std::vector<std::uint8_t> read_picture_file(const std::string& path);

/// Picture files, each decoded and brought to one size when it is read. One that cannot be used
/// reads as black and is noted.
class PictureFiles : public PictureSource {
 public:
  PictureFiles(std::vector<std::string> paths, const ResizeOptions& resize);
  ~PictureFiles() override;
  PictureFiles(const PictureFiles&) = delete;
  PictureFiles& operator=(const PictureFiles&) = delete;

  [[nodiscard]] std::int64_t size() const noexcept override;
  [[nodiscard]] std::int64_t height() const noexcept override;
  [[nodiscard]] std::int64_t width() const noexcept override;
  [[nodiscard]] const std::vector<std::int32_t>& labels() const noexcept override;
  [[nodiscard]] const std::string& name() const noexcept override;
  void read(std::int64_t id, std::uint8_t* out) const override;

  [[nodiscard]] const std::vector<std::string>& paths() const noexcept;
  /// Why the picture of sample `id`, which has been read, cannot be used; empty when it can.
  [[nodiscard]] std::string problem(std::int64_t id) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::data
