#include "lockstep/base/name_prefixes.hpp"

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
  return names.empty() ? "leave it out" : "the first parameter is " + names.front();
}

}  // namespace lockstep
