#include "lockstep/base/name_prefixes.hpp"

#include <algorithm>
#include <sstream>

#include "lockstep/base/check.hpp"

namespace lockstep {
namespace {

// Names and all their leading parts: "layer1.0.conv1.weight" also gives "layer1" and "layer1.0".
std::vector<std::string> possible_prefixes(const std::vector<std::string>& names) {
  std::vector<std::string> prefixes;
  for (const auto& name : names) {
    for (auto dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
      prefixes.push_back(name.substr(0, dot));
    }
    prefixes.push_back(name);
  }
  return prefixes;
}

/// What stands before the first dot of the names, each once; before the second where that would be
/// one or two for all.
std::vector<std::string> first_parts(const std::vector<std::string>& names) {
  constexpr std::size_t kFew = 2;
  constexpr std::size_t kMany = 20;
  std::vector<std::string> parts;
  for (const bool deeper : {false, true}) {
    parts.clear();
    for (const std::string& name : names) {
      const auto dot = name.find('.');
      const std::string part = name.substr(0, deeper ? name.find('.', dot + 1) : dot);
      if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(part);
    }
    if (parts.size() > kFew) break;
  }
  if (parts.size() > kMany) {
    parts.resize(kMany);
    parts.emplace_back("...");
  }
  return parts;
}

}  // namespace

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> items;
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');) {
    const auto begin = item.find_first_not_of(" \t");
    if (begin == std::string::npos) continue;
    items.push_back(item.substr(begin, item.find_last_not_of(" \t") - begin + 1));
  }
  return items;
}

std::string prefix_hint(std::string_view prefix, const std::vector<std::string>& names) {
  const std::string nearest = nearest_name(prefix, possible_prefixes(names));
  if (!nearest.empty()) return "did you mean \"" + nearest + "\"?";
  if (names.empty()) return "leave it out";
  std::string all;
  for (const std::string& begin : first_parts(names)) {
    all += (all.empty() ? "" : ", ") + begin;
  }
  return "names begin with " + all;
}

}  // namespace lockstep
