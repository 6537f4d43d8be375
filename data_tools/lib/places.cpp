#include "lib/places.hpp"

#include <algorithm>
#include <filesystem>

#include "lockstep/base/check.hpp"
#include "lockstep/base/utf8.hpp"

namespace lockstep::tools {
namespace fs = std::filesystem;
namespace {

using Components = std::vector<std::string>;

/// The names in a path, without the root and what a last slash leaves.
Components components_of(const fs::path& path) {
  Components names;
  for (const fs::path& name : path.relative_path()) {
    if (!name.empty()) names.push_back(name.string());
  }
  return names;
}

Components as_written(const std::string& path) {
  return components_of(fs::absolute(path).lexically_normal());
}

/// Where the path leads, links followed as far as it exists.
Components followed(const std::string& path) { return components_of(fs::weakly_canonical(path)); }

bool begins_with(const Components& path, const Components& beginning) {
  return beginning.size() <= path.size() &&
         std::equal(beginning.begin(), beginning.end(), path.begin());
}

bool lies_in(const std::string& inner, const std::string& outer) {
  return begins_with(as_written(inner), as_written(outer)) ||
         begins_with(followed(inner), followed(outer));
}

/// The last `count` names of a path, or all of them.
Components end_of(const Components& path, std::size_t count) {
  return {path.end() - static_cast<std::ptrdiff_t>(std::min(count, path.size())), path.end()};
}

/// Whether no end begins as another one goes: then paths behind them cannot be the same.
bool differ(const std::vector<Components>& ends) {
  for (std::size_t i = 0; i < ends.size(); ++i) {
    for (std::size_t k = 0; k < ends.size(); ++k) {
      if (i != k && begins_with(ends[i], ends[k])) return false;
    }
  }
  return true;
}

}  // namespace

void check_outside(const std::vector<std::string>& inputs, const std::string& output,
                   const std::string& place) {
  for (const std::string& input : inputs) {
    if (lies_in(output, input)) {
      throw UsageError("OUT '" + output + "' lies in " + place + " '" + input + "'",
                       "it would be a part of that folder", "give an output folder outside of it");
    }
  }
}

std::vector<std::string> name_folders(const std::vector<std::string>& folders) {
  if (folders.size() == 1) return {""};
  std::vector<Components> paths;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    for (std::size_t k = 0; k < folders.size(); ++k) {
      if (i != k && lies_in(folders[i], folders[k])) {
        throw UsageError("'" + folders[i] + "' is or lies in '" + folders[k] + "'",
                         "its pictures would be packed twice", "leave one of them out");
      }
    }
    paths.push_back(as_written(folders[i]));
  }
  std::vector<Components> ends;
  std::size_t count = 0;
  do {
    ++count;
    ends.clear();
    for (const Components& path : paths) ends.push_back(end_of(path, count));
    // Whole paths do differ, as none lies in another.
  } while (!differ(ends));
  std::vector<std::string> names;
  for (const Components& end : ends) {
    std::string name;
    for (const std::string& part : end) name += part + "/";
    if (!is_utf8(name)) {
      throw UsageError("the name '" + escaped(name) + "' cannot be stored", "it is not UTF-8",
                       "rename the folder");
    }
    names.push_back(name);
  }
  return names;
}

}  // namespace lockstep::tools
