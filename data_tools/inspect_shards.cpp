#include <algorithm>
#include <cstdio>

#include "lib/command_line.hpp"
#include "lib/contact_sheet.hpp"
#include "lib/tool.hpp"
#include "lib/verify.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/wording.hpp"

namespace {

using namespace lockstep;

void print_summary(const data::ShardSet& set) {
  const data::SetInfo& info = set.info();
  std::printf("%s\n  set id   %s\n  samples  %lld of %lldx%lld pixels in %s\n",
              set.folder().c_str(), info.set_id.c_str(), static_cast<long long>(info.samples),
              static_cast<long long>(info.height), static_cast<long long>(info.width),
              counted(static_cast<std::int64_t>(info.shards.size()), "shard").c_str());
  if (set.slow_shards() > 0) {
    std::printf("  layout   %s not contiguous: read through HDF5, more slowly\n",
                counted(set.slow_shards(), "shard").c_str());
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

void inspect(const tools::CommandLine& line) {
  const data::ShardSet set(line.text("SET"));
  print_summary(set);
  if (line.given("sheet")) {
    const std::string file = line.text("sheet");
    if (!file.ends_with(".png")) {
      throw UsageError("--sheet '" + file + "' is not written", "its name does not end in .png",
                       "give the name of a picture to write, such as sheet.png");
    }
    constexpr std::int64_t kMost = 4096;
    tools::write_contact_sheet(
        set, tools::parse_count(line.text("sheet-samples"), "--sheet-samples", 1, kMost), file);
    std::printf("wrote %s\n", file.c_str());
  }
  if (line.given("verify")) {
    const std::vector<std::string> faults = tools::verify_set(set);
    constexpr std::size_t kShown = 20;
    for (std::size_t i = 0; i < std::min(faults.size(), kShown); ++i) {
      std::printf("fault: %s\n", faults[i].c_str());
    }
    require(faults.empty(), "'" + set.folder() + "' is damaged",
            counted(static_cast<std::int64_t>(faults.size()), "fault") +
                (faults.empty() ? "" : "; first: " + faults[0]),
            "pack the set again, or copy it again from where it was made");
    std::printf("verified: %lld samples, all as stored\n", static_cast<long long>(set.size()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  return tools::run_tool("inspect_shards", [&] {
    tools::CommandLine line("inspect_shards", "Shows what a set of shards holds.", {"SET"});
    line.add_flag("verify", "read everything and compare it with what is stored");
    line.add("sheet", "FILE", "PNG file to write, with the first samples and their classes");
    line.add("sheet-samples", "N", "samples on the sheet", "64");
    if (line.parse(argc, argv)) inspect(line);
  });
}
