#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/pack_sets.hpp"

namespace lockstep::tools {

/// Which labels of CIFAR-100 to take: 100 classes, or the 20 groups of them.
enum class CifarLabels { kFine, kCoarse };

/// What an archive of CIFAR holds.
struct Cifar {
  std::string version;          ///< "CIFAR-10, binary version"
  std::vector<PackPart> parts;  ///< train, test
  std::vector<std::string> notes;
};

/// Reads an official archive of CIFAR-10 or CIFAR-100, binary or python version, as downloaded
/// (tar, plain or gzip's) or the folder that it unpacks to. `labels` for CIFAR-100 alone (none:
/// fine). All of it is read into memory. Throws Error naming file and record, UsageError for labels
/// that do not apply.
[[nodiscard]] Cifar read_cifar(const std::string& input, std::optional<CifarLabels> labels);

}  // namespace lockstep::tools
