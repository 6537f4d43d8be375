#include "lr_scales.hpp"

#include <algorithm>
#include <sstream>

#include "lockstep/base/check.hpp"
#include "lockstep/base/cli.hpp"
#include "lockstep/base/name_prefixes.hpp"

namespace lockstep::optim {
namespace {

constexpr double kLargest = 1e6;

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

LrScale parse_item(const std::string& item) {
  const auto equals = item.rfind('=');
  const std::string prefix = equals == std::string::npos ? "" : trimmed(item.substr(0, equals));
  if (prefix.empty()) {
    throw UsageError("optim.lr_scale: cannot read \"" + item + "\"",
                     "it is no beginning of a name, = and a factor",
                     "write it as in conv1=0.1, layer1=0.1, fc=10");
  }
  const double scale =
      parse_double(trimmed(item.substr(equals + 1)), "optim.lr_scale of " + prefix);
  if (scale < 0 || scale > kLargest) {
    throw UsageError("optim.lr_scale of " + prefix + ": " + trimmed(item.substr(equals + 1)) +
                         " is out of range",
                     "a factor is a number from 0 to 1000000", "choose a value in that range");
  }
  return {prefix, scale};
}

/// Of each parameter, the scale that counts for it, or null.
std::vector<const LrScale*> longest_of_each(const std::vector<LrScale>& scales,
                                            const std::vector<NamedParameter>& parameters) {
  std::vector<const LrScale*> chosen;
  chosen.reserve(parameters.size());
  for (const auto& [name, tensor] : parameters) {
    const LrScale* longest = nullptr;
    for (const LrScale& each : scales) {
      const bool longer = longest == nullptr || each.prefix.size() > longest->prefix.size();
      if (name.starts_with(each.prefix) && longer) longest = &each;
    }
    chosen.push_back(longest);
  }
  return chosen;
}

[[noreturn]] void refuse_idle(const LrScale& idle, const std::vector<NamedParameter>& parameters) {
  std::vector<std::string> names;
  names.reserve(parameters.size());
  for (const auto& [name, tensor] : parameters) names.push_back(name);
  const bool begun = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return name.starts_with(idle.prefix);
  });
  if (begun) {
    throw UsageError("optim.lr_scale of " + idle.prefix + " has no effect",
                     "all parameters that start with it have a longer prefix in the list",
                     "leave it out");
  }
  throw UsageError(
      "optim.lr_scale: no parameter that is trained starts with \"" + idle.prefix + "\"",
      "it is not in the model, or frozen", prefix_hint(idle.prefix, names));
}

}  // namespace

std::vector<LrScale> parse_lr_scales(const std::string& text) {
  std::vector<LrScale> scales;
  for (const std::string& item : split_at_commas(text)) {
    LrScale scale = parse_item(item);
    const bool twice = std::any_of(scales.begin(), scales.end(), [&](const LrScale& other) {
      return other.prefix == scale.prefix;
    });
    if (twice) {
      throw UsageError("optim.lr_scale has " + scale.prefix + " twice", "one factor can count",
                       "leave one of them out");
    }
    scales.push_back(std::move(scale));
  }
  if (scales.empty() && !text.empty()) {
    throw UsageError("optim.lr_scale: cannot read \"" + text + "\"", "it names nothing",
                     "write it as in conv1=0.1, layer1=0.1, fc=10, or leave it empty");
  }
  return scales;
}

std::vector<double> lr_scale_of_each(const std::vector<LrScale>& scales,
                                     const std::vector<NamedParameter>& parameters) {
  const std::vector<const LrScale*> chosen = longest_of_each(scales, parameters);
  for (const LrScale& scale : scales) {
    if (std::find(chosen.begin(), chosen.end(), &scale) == chosen.end()) {
      refuse_idle(scale, parameters);
    }
  }
  std::vector<double> factors;
  factors.reserve(chosen.size());
  for (const LrScale* scale : chosen) factors.push_back(scale == nullptr ? 1 : scale->scale);
  return factors;
}

std::string lr_scales_text(const OptimizerOptions& options,
                           const std::vector<NamedParameter>& parameters) {
  const std::vector<const LrScale*> chosen = longest_of_each(options.lr_scales, parameters);
  std::ostringstream text;
  for (const LrScale& scale : options.lr_scales) {
    text << (text.str().empty() ? "" : ", ") << scale.scale << " for " << scale.prefix << " ("
         << std::count(chosen.begin(), chosen.end(), &scale) << ")";
  }
  return text.str();
}

}  // namespace lockstep::optim
