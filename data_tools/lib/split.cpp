#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "lib/pack.hpp"
#include "lockstep/base/seed.hpp"

namespace lockstep::tools {
namespace {

/// FNV-1a: a stable number for a path.
std::uint64_t hash_path(const std::string& path) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : path) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  return hash;
}

}  // namespace

std::vector<std::vector<Sample>> split_samples(const std::vector<Sample>& samples,
                                               const std::vector<double>& weights,
                                               std::uint64_t seed) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::map<std::int32_t, std::vector<std::pair<std::uint64_t, const Sample*>>> by_class;
  for (const Sample& sample : samples) {
    by_class[sample.label].emplace_back(derive_key(seed, Stream::kPacking, hash_path(sample.path)),
                                        &sample);
  }
  std::vector<std::vector<Sample>> parts(weights.size());
  for (auto& [label, members] : by_class) {
    std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first, a.second->path) < std::pair(b.first, b.second->path);
    });
    const auto n = static_cast<double>(members.size());
    double weight = 0;
    std::size_t begin = 0;
    for (std::size_t part = 0; part < weights.size(); ++part) {
      weight += weights[part];
      const auto end = static_cast<std::size_t>(std::llround(n * weight / total));
      for (std::size_t i = begin; i < end; ++i) parts[part].push_back(*members[i].second);
      begin = end;
    }
  }
  for (auto& part : parts) std::sort(part.begin(), part.end(), comes_before);
  return parts;
}

}  // namespace lockstep::tools
