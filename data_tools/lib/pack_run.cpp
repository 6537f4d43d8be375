#include <chrono>
#include <cstdio>
#include <filesystem>

#include "lib/pack_request.hpp"
#include "lib/staging.hpp"
#include "lockstep/base/check.hpp"

namespace lockstep::tools {
namespace {

void print_set(const std::string& place, const data::SetInfo& info) {
  std::printf("%s: %lld samples, %zu classes, %lldx%lld pixels, %zu shard%s, set id %s\n",
              place.c_str(), static_cast<long long>(info.samples), info.classes.size(),
              static_cast<long long>(info.height), static_cast<long long>(info.width),
              info.shards.size(), info.shards.size() == 1 ? "" : "s", info.set_id.c_str());
}

void print_counts(const char* word, const std::map<std::string, std::int64_t>& counts) {
  for (const auto& [reason, count] : counts) {
    std::printf("  %s %lld: %s\n", word, static_cast<long long>(count), reason.c_str());
  }
}

/// Everything packed so far, over the parts of a split.
struct Totals {
  std::int64_t packed = 0;
  std::map<std::string, std::int64_t> bad;
  std::vector<std::string> examples;
  std::vector<std::pair<std::string, data::SetInfo>> sets;  // by their place

  void add(const std::string& place, const PackSummary& summary) {
    sets.emplace_back(place, summary.info);
    packed += summary.info.samples;
    for (const auto& [kind, count] : summary.bad) bad[kind] += count;
    examples.insert(examples.end(), summary.bad_examples.begin(), summary.bad_examples.end());
  }
  [[nodiscard]] std::int64_t bad_count() const {
    std::int64_t sum = 0;
    for (const auto& [kind, count] : bad) sum += count;
    return sum;
  }
};

void print_summary(const ScanResult& scan, const Totals& totals, double seconds) {
  for (const auto& [place, info] : totals.sets) print_set(place, info);
  const auto found = static_cast<long long>(scan.files.size()) + scan.ignored_count();
  std::printf("found %lld files = %lld packed + %lld ignored + %lld bad, in %.1f s\n", found,
              static_cast<long long>(totals.packed), static_cast<long long>(scan.ignored_count()),
              static_cast<long long>(totals.bad_count()), seconds);
  print_counts("ignored", scan.ignored);
  print_counts("bad", totals.bad);
  for (const std::string& example : totals.examples) std::printf("    %s\n", example.c_str());
  const auto shown = static_cast<std::int64_t>(totals.examples.size());
  if (totals.bad_count() > shown) {
    std::printf("    and %lld more\n", static_cast<long long>(totals.bad_count() - shown));
  }
}

/// A class of which nothing is trained cannot be learned.
void require_all_classes(const ScanResult& scan, const std::vector<FoundFile>& train) {
  std::vector<bool> seen(scan.classes.size());
  for (const FoundFile& file : train) seen[static_cast<std::size_t>(file.label)] = true;
  for (const FoundFile& file : scan.files) {
    require(seen[static_cast<std::size_t>(file.label)],
            "class '" + scan.classes[static_cast<std::size_t>(file.label)] +
                "' would have no picture in the part train of the split",
            "it has too few pictures for that part",
            "add pictures, give the part more, or give --allow-empty-classes");
  }
}

}  // namespace

void run_pack(const PackRequest& request) {
  const auto begin = std::chrono::steady_clock::now();
  const ScanResult scan = scan_folder(request.pack.root, request.scan);
  StagingFolder staging(request.output, request.overwrite);
  Totals totals;
  if (request.split.empty()) {
    const PackSummary summary = pack_files(request.pack, scan.classes, scan.files, staging.path());
    totals.add(request.output, summary);
  } else {
    const auto parts = split_files(scan.files, request.split, request.pack.seed);
    const std::vector<std::string> names = parts.size() == 2
                                               ? std::vector<std::string>{"train", "test"}
                                               : std::vector<std::string>{"train", "val", "test"};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      require(!parts[i].empty(), "the part " + names[i] + " of the split would be empty",
              "there are " + std::to_string(scan.files.size()) + " pictures",
              "add pictures, or give that part more");
    }
    if (!request.pack.allow_empty_classes) require_all_classes(scan, parts.front());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::string folder = staging.path() + "/" + names[i];
      std::filesystem::create_directory(folder);
      const PackSummary summary = pack_files(request.pack, scan.classes, parts[i], folder);
      totals.add(request.output + "/" + names[i], summary);
    }
  }
  require(static_cast<std::int64_t>(scan.files.size()) == totals.packed + totals.bad_count(),
          "pictures were lost", "found, packed and bad do not add up", "report this as a bug");
  throw_if_stopped();
  staging.commit();
  print_summary(scan, totals,
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

}  // namespace lockstep::tools
