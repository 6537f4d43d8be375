#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/sample_source.hpp"
#include "lockstep/data/image_resize.hpp"
#include "lockstep/data/shard_format.hpp"

namespace lockstep::tools {

struct PackOptions {
  std::optional<std::array<std::int64_t, 2>> size;  ///< height, width; none: as the pictures are
  data::Fit fit = data::Fit::kCrop;
  std::array<std::uint8_t, 3> background{};
  std::int64_t shard_samples = 0;  ///< at most so many a shard; 0: 10,000, or fewer for 256 MiB
  std::int64_t shards = 0;         ///< exactly so many, when above 0
  std::int64_t threads = 1;
  std::uint64_t seed = 0;  ///< of the order of samples
  bool overwrite = false;  ///< an old output of the same kind is replaced
  bool skip_bad = false;
  bool allow_empty_classes = false;
};

/// A picture that was left out.
struct BadPicture {
  std::uint64_t origin = 0;  ///< of its sample
  std::string kind;          ///< of its fault
};

/// What became of the samples of a source.
struct PackSummary {
  data::SetInfo info;
  std::vector<BadPicture> bad;
  std::vector<std::string> bad_examples;  ///< the first few, with reason
};

/// Decodes, resizes and writes the samples of a source into the existing folder, shuffled by (seed,
/// their number). All threads decode, one writes in order: the same input gives the same bytes
/// whatever the number of threads, and a bounded amount of pictures is in memory. A bad picture
/// throws its ImageError, or is counted with skip_bad. Throws when a class that has samples ends up
/// with no picture.
[[nodiscard]] PackSummary pack_samples(const PackOptions& options, SampleSource source,
                                       const std::string& folder);

/// Cuts samples into parts by weights (80, 10, 10), class by class; which one goes where depends on
/// (seed, its path) and the class's others, not on the order they are given in.
[[nodiscard]] std::vector<std::vector<Sample>> split_samples(const std::vector<Sample>& samples,
                                                             const std::vector<double>& weights,
                                                             std::uint64_t seed);

}  // namespace lockstep::tools
