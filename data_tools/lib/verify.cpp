#include "lib/verify.hpp"

#include <cmath>

#include "lockstep/base/wording.hpp"
#include "lockstep/data/set_digest.hpp"
#include "lockstep/data/shard_writer.hpp"

namespace lockstep::tools {
namespace {

constexpr double kTolerance = 1e-9;  // the sums are exact, only their last division rounds

void compare(const char* what, const std::array<double, 3>& stored,
             const std::array<double, 3>& found, std::vector<std::string>& faults) {
  for (std::size_t c = 0; c < stored.size(); ++c) {
    if (!(std::abs(stored[c] - found[c]) <= kTolerance)) {
      faults.push_back(std::string("channel ") + std::to_string(c) + ": the " + what + " is " +
                       number_text(found[c]) + ", set.json says " + number_text(stored[c]));
    }
  }
}

}  // namespace

std::vector<std::string> verify_set(const data::ShardSet& set) {
  std::vector<std::string> faults;
  std::vector<std::uint8_t> picture(static_cast<std::size_t>(set.sample_bytes()));
  data::ChannelStatistics statistics;
  std::int64_t id = 0;
  for (const data::ShardInfo& shard : set.info().shards) {
    for (std::int64_t row = 0; row < shard.samples; ++row, ++id) {
      set.read(id, picture.data());
      const data::SampleDigest digest = data::digest_sample(picture);
      statistics.add(digest, set.info().height * set.info().width);
      if (digest.checksum != set.stored_checksum(id)) {
        faults.push_back(shard.file + ", sample " + std::to_string(row) +
                         ": the picture differs from its checksum");
      }
    }
    if (data::digest_file(set.folder() + "/" + shard.file) != shard.digest) {
      faults.push_back(shard.file + ": the file differs from its digest in set.json");
    }
  }
  compare("mean", set.info().mean, statistics.mean(), faults);
  compare("standard deviation", set.info().std, statistics.std(), faults);
  return faults;
}

}  // namespace lockstep::tools
