#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "lib/pack_request.hpp"
#include "lib/pack_sets.hpp"
#include "lib/picture_files.hpp"
#include "lib/staging.hpp"
#include "lockstep/base/check.hpp"

namespace lockstep::tools {
namespace {

using Counts = std::map<std::string, std::int64_t>;

void print_counts(const char* word, const Counts& counts) {
  for (const auto& [reason, count] : counts) {
    std::printf("  %s %lld: %s\n", word, static_cast<long long>(count), reason.c_str());
  }
}

/// "found 9 files = 6 packed + 2 ignored + 1 bad"
std::string found_text(std::int64_t pictures, std::int64_t ignored, std::int64_t bad) {
  return "found " + std::to_string(pictures + ignored) +
         " files = " + std::to_string(pictures - bad) + " packed + " + std::to_string(ignored) +
         " ignored + " + std::to_string(bad) + " bad";
}

void print_roots(const ScanResult& scan, const PackResult& result) {
  std::vector<std::int64_t> bad(scan.roots.size());
  for (const BadPicture& picture : result.bad) ++bad[picture.origin];
  for (std::size_t i = 0; i < scan.roots.size(); ++i) {
    const ScannedRoot& root = scan.roots[i];
    std::printf("  %s (paths begin with %s): %s\n", root.folder.c_str(), root.prefix.c_str(),
                found_text(root.pictures, root.ignored_count(), bad[i]).c_str());
  }
}

void print_summary(const ScanResult& scan, const PackResult& result, double seconds) {
  print_sets(result);
  Counts ignored;
  std::int64_t ignored_count = 0;
  for (const ScannedRoot& root : scan.roots) {
    ignored_count += root.ignored_count();
    for (const auto& [reason, count] : root.ignored) ignored[reason] += count;
  }
  const auto bad_count = static_cast<std::int64_t>(result.bad.size());
  std::printf(
      "%s, in %.1f s\n",
      found_text(static_cast<std::int64_t>(scan.files.size()), ignored_count, bad_count).c_str(),
      seconds);
  if (scan.roots.size() > 1) print_roots(scan, result);
  print_counts("ignored", ignored);
  Counts bad;
  for (const BadPicture& picture : result.bad) ++bad[picture.kind];
  print_counts("bad", bad);
  for (const std::string& example : result.bad_examples) std::printf("    %s\n", example.c_str());
  const auto shown = static_cast<std::int64_t>(result.bad_examples.size());
  if (bad_count > shown) {
    std::printf("    and %lld more\n", static_cast<long long>(bad_count - shown));
  }
}

/// A class of which nothing is trained cannot be learned.
void require_all_classes(const ScanResult& scan, const std::vector<Sample>& train) {
  std::vector<bool> seen(scan.classes.size());
  for (const Sample& file : train) seen[static_cast<std::size_t>(file.label)] = true;
  for (const Sample& file : scan.files) {
    require(seen[static_cast<std::size_t>(file.label)],
            "class '" + scan.classes[static_cast<std::size_t>(file.label)] +
                "' would have no picture in the part train of the split",
            "it has too few pictures for that part",
            "add pictures, give the part more, or give --allow-empty-classes");
  }
}

std::vector<std::string> part_names(std::size_t parts) {
  return parts == 2 ? std::vector<std::string>{"train", "test"}
                    : std::vector<std::string>{"train", "val", "test"};
}

/// What shares the numbers of a split are, where they are neither per cent nor fractions of 1.
void print_split(const std::vector<double>& weights) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  constexpr double kRounding = 1e-9;
  if (weights.empty() || std::abs(total - 100) < kRounding || std::abs(total - 1) < kRounding) {
    return;
  }
  const std::vector<std::string> names = part_names(weights.size());
  std::printf("--split");
  for (std::size_t i = 0; i < weights.size(); ++i) {
    std::printf("%c%g", i == 0 ? ' ' : '/', weights[i]);
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const char* before = i == 0 ? ":" : i + 1 == weights.size() ? " and" : ",";
    std::printf("%s %.1f %% %s", before, 100 * weights[i] / total, names[i].c_str());
  }
  std::printf("\n");
}

std::vector<PackPart> make_parts(const PackRequest& request, const ScanResult& scan) {
  const auto decode = picture_decoder(scan, request.pack.background);
  std::vector<PackPart> parts;
  if (request.split.empty()) {
    parts.push_back({"", {scan.classes, scan.files, decode}});
    return parts;
  }
  auto cut = split_samples(scan.files, request.split, request.pack.seed);
  const std::vector<std::string> names = part_names(cut.size());
  for (std::size_t i = 0; i < cut.size(); ++i) {
    require(!cut[i].empty(), "the part " + names[i] + " of the split would be empty",
            "there are " + std::to_string(scan.files.size()) + " pictures",
            "add pictures, or give that part more");
    parts.push_back({names[i], {scan.classes, std::move(cut[i]), decode}});
  }
  if (!request.pack.allow_empty_classes) {
    require_all_classes(scan, parts.front().source.samples);
  }
  return parts;
}

}  // namespace

void run_pack(const PackRequest& request) {
  const auto begin = std::chrono::steady_clock::now();
  check_destination(request.output, request.pack.overwrite);
  print_split(request.split);
  const ScanResult scan = scan_folders(request.roots, request.scan);
  const PackResult result = pack_sets(request.pack, make_parts(request, scan), request.output);
  print_summary(scan, result,
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

}  // namespace lockstep::tools
