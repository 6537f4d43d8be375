#include "lib/pack_sets.hpp"

#include <cstdio>
#include <filesystem>
#include <numeric>

#include "lib/staging.hpp"
#include "lib/stop.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/wording.hpp"

namespace lockstep::tools {

std::int64_t PackResult::packed() const {
  return std::accumulate(
      sets.begin(), sets.end(), std::int64_t{0},
      [](std::int64_t sum, const PackedSet& set) { return sum + set.info.samples; });
}

PackResult pack_sets(const PackOptions& options, std::vector<PackPart> parts,
                     const std::string& output) {
  StagingFolder staging(output, options.overwrite);
  PackResult result;
  std::size_t samples = 0;
  for (PackPart& part : parts) {
    const std::string below = part.name.empty() ? "" : "/" + part.name;
    if (!below.empty()) std::filesystem::create_directory(staging.path() + below);
    samples += part.source.samples.size();
    PackSummary summary = pack_samples(options, std::move(part.source), staging.path() + below);
    result.sets.push_back({output + below, std::move(summary.info)});
    result.bad.insert(result.bad.end(), summary.bad.begin(), summary.bad.end());
    result.bad_examples.insert(result.bad_examples.end(), summary.bad_examples.begin(),
                               summary.bad_examples.end());
  }
  require(samples == static_cast<std::size_t>(result.packed()) + result.bad.size(),
          "pictures were lost", "found, packed and bad do not add up", "report this as a bug");
  throw_if_stopped();
  staging.commit();
  return result;
}

void print_sets(const PackResult& result) {
  for (const auto& [place, info] : result.sets) {
    std::printf("%s: %lld samples, %zu classes, %lldx%lld pixels, %s, set id %s\n", place.c_str(),
                static_cast<long long>(info.samples), info.classes.size(),
                static_cast<long long>(info.height), static_cast<long long>(info.width),
                counted(static_cast<std::int64_t>(info.shards.size()), "shard").c_str(),
                info.set_id.c_str());
  }
}

}  // namespace lockstep::tools
