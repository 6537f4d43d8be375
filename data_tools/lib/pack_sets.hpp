#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/pack.hpp"
#include "lib/sample_source.hpp"

namespace lockstep::tools {

/// One set of an output.
struct PackPart {
  std::string name;  ///< "train": a folder in the output; "": the output itself
  SampleSource source;
};

struct PackedSet {
  std::string place;
  data::SetInfo info;
};

/// What became of all samples.
struct PackResult {
  std::vector<PackedSet> sets;
  std::vector<BadPicture> bad;
  std::vector<std::string> bad_examples;
  [[nodiscard]] std::int64_t packed() const;
};

/// Packs all parts beside `output` and puts them in place together, once they are whole; until then
/// an old output stays. What every tool that makes sets does with what it has read.
[[nodiscard]] PackResult pack_sets(const PackOptions& options, std::vector<PackPart> parts,
                                   const std::string& output);

/// A line on each set.
void print_sets(const PackResult& result);

}  // namespace lockstep::tools
