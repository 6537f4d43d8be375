#pragma once

#include <set>
#include <string>
#include <vector>

#include "lib/scan.hpp"

/// How scan_folders walks a folder.
namespace lockstep::tools {

/// Names of the class folders of a root; everything else at its top is ignored and counted there.
[[nodiscard]] std::set<std::string> class_folders(ScannedRoot& root);

/// Appends the pictures of one class folder of a root, each as `sample` with its path.
void add_pictures(ScannedRoot& root, const std::string& folder, const Sample& sample,
                  std::vector<Sample>& files);

}  // namespace lockstep::tools
