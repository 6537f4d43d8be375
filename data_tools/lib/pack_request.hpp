#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/pack.hpp"
#include "lib/scan.hpp"

namespace lockstep::tools {

/// What the command line of pack_images asks for.
struct PackRequest {
  std::vector<std::string> roots;
  std::string output;
  PackOptions pack;
  ScanOptions scan;
  std::vector<double> split;  ///< weights of train, (val,) test; empty: one set
};

/// Reads the command line; nothing when it only asked for help. Throws UsageError.
[[nodiscard]] std::optional<PackRequest> read_pack_request(int argc, const char* const* argv);

/// Scans, packs and puts the set (or sets) in place, and prints the summary.
void run_pack(const PackRequest& request);

}  // namespace lockstep::tools
