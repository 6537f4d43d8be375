#pragma once

#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "lockstep/data/shard_writer.hpp"

namespace lockstep::data {

/// A set of made-up pictures in a temporary folder. Every byte is a formula of its place, so tests
/// know what must come out without reading the set.
class SmallSet {
 public:
  static constexpr std::int64_t kClasses = 3;

  SmallSet(std::int64_t samples, std::int64_t height, std::int64_t width, std::int64_t shards = 2) {
    std::string name = (std::filesystem::temp_directory_path() / "lockstep-set-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
    SetWriterOptions options;
    options.height = height;
    options.width = width;
    options.classes = {"ant", "bee", "cat"};
    options.planned_samples = samples;
    options.shards = shards;
    options.path_bytes = 16;
    SetWriter writer(folder_, options);
    for (std::int64_t id = 0; id < samples; ++id) {
      const auto rgb = picture(id, height, width);
      writer.append(rgb, digest_sample(rgb), label(id), std::to_string(id) + ".png");
    }
    writer.finish();
  }
  ~SmallSet() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  SmallSet(const SmallSet&) = delete;
  SmallSet& operator=(const SmallSet&) = delete;

  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }

  [[nodiscard]] static std::int32_t label(std::int64_t id) noexcept {
    return static_cast<std::int32_t>(id % kClasses);
  }
  [[nodiscard]] static std::vector<std::uint8_t> picture(std::int64_t id, std::int64_t height,
                                                         std::int64_t width) {
    std::vector<std::uint8_t> rgb(static_cast<std::size_t>(height * width * 3));
    for (std::size_t i = 0; i < rgb.size(); ++i) {
      rgb[i] = static_cast<std::uint8_t>(static_cast<std::size_t>(id) * 37 + i * 11 + i / 7);
    }
    return rgb;
  }

 private:
  std::string folder_;
};

}  // namespace lockstep::data
