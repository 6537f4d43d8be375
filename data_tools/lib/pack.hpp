#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/scan.hpp"
#include "lockstep/data/image_resize.hpp"
#include "lockstep/data/shard_format.hpp"

namespace lockstep::tools {

struct PackOptions {
  std::string root;
  std::optional<std::array<std::int64_t, 2>> size;  ///< height, width; none: as the pictures are
  data::Fit fit = data::Fit::kCrop;
  std::array<std::uint8_t, 3> background{};
  std::int64_t shard_samples = 0;  ///< at most so many a shard; 0: 10,000, or fewer for 256 MiB
  std::int64_t shards = 0;         ///< exactly so many, when above 0
  std::int64_t threads = 1;
  std::uint64_t seed = 0;  ///< of the order of samples
  bool skip_bad = false;
  bool allow_empty_classes = false;
};

/// What became of the pictures.
struct PackSummary {
  data::SetInfo info;
  std::map<std::string, std::int64_t> bad;  ///< kind of fault -> files
  std::vector<std::string> bad_examples;    ///< the first few, with reason
};

/// Decodes, resizes and writes `files` into the existing folder, shuffled by (seed, their number).
/// All threads decode, one writes in order: the same input gives the same bytes whatever the number
/// of threads, and a bounded amount of pictures is in memory. A bad picture throws its ImageError,
/// or is counted with skip_bad. Throws when a class that has files ends up with no picture.
[[nodiscard]] PackSummary pack_files(const PackOptions& options,
                                     const std::vector<std::string>& classes,
                                     const std::vector<FoundFile>& files,
                                     const std::string& folder);

/// Cuts files into parts by weights (80, 10, 10), class by class; which file goes where depends on
/// (seed, its path) and the class's other files, not on the order they are given in.
[[nodiscard]] std::vector<std::vector<FoundFile>> split_files(const std::vector<FoundFile>& files,
                                                              const std::vector<double>& weights,
                                                              std::uint64_t seed);

}  // namespace lockstep::tools
