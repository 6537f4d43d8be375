#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdio>
#include <iostream>

#include "lib/contact_sheet.hpp"
#include "lib/tool.hpp"
#include "lib/verify.hpp"
#include "lockstep/base/check.hpp"

namespace {

namespace po = boost::program_options;
using namespace lockstep;

constexpr const char* kUsage =
    "inspect_shards SET [options]\n\n"
    "Shows what a set of shards holds. Exit codes: 0 done, 1 failed (a fault was found), 2 wrong "
    "use.\n";

po::options_description describe() {
  po::options_description options("Options", 100, 60);
  auto add = options.add_options();
  add("help", "show this text");
  add("verify", "read everything and compare with the checksums");
  add("sheet", po::value<std::string>(), "write a PNG with the first samples and their classes");
  add("sheet-samples", po::value<std::string>()->default_value("64"), "samples on the sheet");
  return options;
}

void print_summary(const data::ShardSet& set) {
  const data::SetInfo& info = set.info();
  std::printf("%s\n  set id   %s\n  samples  %lld of %lldx%lld pixels in %zu shards\n",
              set.folder().c_str(), info.set_id.c_str(), static_cast<long long>(info.samples),
              static_cast<long long>(info.height), static_cast<long long>(info.width),
              info.shards.size());
  if (set.slow_shards() > 0) {
    std::printf("  layout   %lld shards are not contiguous: read through HDF5, more slowly\n",
                static_cast<long long>(set.slow_shards()));
  }
  std::printf("  mean     %.6f %.6f %.6f\n  std      %.6f %.6f %.6f\n  classes  %zu\n",
              info.mean[0], info.mean[1], info.mean[2], info.std[0], info.std[1], info.std[2],
              info.classes.size());
  const std::int64_t most = *std::max_element(info.class_counts.begin(), info.class_counts.end());
  constexpr std::int64_t kBar = 40;
  for (std::size_t k = 0; k < info.classes.size(); ++k) {
    const auto bar = static_cast<std::size_t>(kBar * info.class_counts[k] / most);
    std::printf("  %5zu  %9lld  %-40s  %s\n", k, static_cast<long long>(info.class_counts[k]),
                std::string(bar, '#').c_str(), info.classes[k].c_str());
  }
}

void inspect(const po::variables_map& given) {
  if (given.count("set") == 0) {
    throw UsageError("no set is given", "SET is needed", "write inspect_shards SET; see --help");
  }
  const data::ShardSet set(given["set"].as<std::string>());
  print_summary(set);
  if (given.count("sheet") > 0) {
    const std::string file = given["sheet"].as<std::string>();
    constexpr std::int64_t kMost = 4096;
    tools::write_contact_sheet(
        set,
        tools::parse_count(given["sheet-samples"].as<std::string>(), "--sheet-samples", 1, kMost),
        file);
    std::printf("wrote %s\n", file.c_str());
  }
  if (given.count("verify") > 0) {
    const std::vector<std::string> faults = tools::verify_set(set);
    constexpr std::size_t kShown = 20;
    for (std::size_t i = 0; i < std::min(faults.size(), kShown); ++i) {
      std::printf("fault: %s\n", faults[i].c_str());
    }
    require(
        faults.empty(), "'" + set.folder() + "' is damaged",
        std::to_string(faults.size()) + " faults" + (faults.empty() ? "" : "; first: " + faults[0]),
        "pack the set again, or copy it again from where it was made");
    std::printf("verified: %lld samples, all as stored\n", static_cast<long long>(set.size()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  return tools::run_tool("inspect_shards", [&] {
    po::options_description all = describe();
    all.add_options()("set", po::value<std::string>(), "");
    po::positional_options_description places;
    places.add("set", 1);
    namespace style = po::command_line_style;
    po::variables_map given;
    po::store(po::command_line_parser(argc, argv)
                  .options(all)
                  .positional(places)
                  .style(style::allow_long | style::long_allow_adjacent | style::long_allow_next)
                  .run(),
              given);
    if (given.count("help") > 0) {
      std::cout << kUsage << "\n" << describe();
      return;
    }
    inspect(given);
  });
}
