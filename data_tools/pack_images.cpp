#include <boost/program_options.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "lib/pack.hpp"
#include "lib/scan.hpp"
#include "lib/staging.hpp"
#include "lib/tool.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/cli.hpp"

namespace {

namespace po = boost::program_options;
using namespace lockstep;

constexpr const char* kUsage =
    "pack_images IN OUT [options]\n\n"
    "Packs a folder of class folders with JPEG and PNG pictures into OUT, a set of HDF5 shards.\n"
    "found = packed + ignored + bad is checked and printed. Exit codes: 0 done, 1 failed, 2 wrong "
    "use.\n";

po::options_description describe() {
  po::options_description options("Options", 100, 60);
  auto add = options.add_options();
  const auto text = [] { return po::value<std::string>(); };
  add("help", "show this text");
  add("size", text(), "N or HxW: pixels of the packed pictures (needed when they differ in size)");
  add("fit", text()->default_value("crop"),
      "crop: cover the size, cut the centre; pad: fit inside it; stretch");
  add("background", text()->default_value("0,0,0"),
      "R,G,B behind transparent pixels and around padded pictures");
  add("classes-from", text(), "take the classes of this set (for test and validation sets)");
  add("split", text(),
      "80/10/10: make OUT/train, OUT/val and OUT/test of one folder (80/20: train, test)");
  add("shard-size", text(), "samples per shard (about 256 MiB a shard)");
  add("threads", text(), "decoding threads (all cores)");
  add("seed", text()->default_value("0"), "of the order of samples and of the split");
  add("on-error", text()->default_value("fail"), "fail, or skip bad pictures and count them");
  add("allow-empty-classes", "keep classes without pictures");
  add("overwrite", "replace OUT when it is a set of shards; it stays until the new one is whole");
  return options;
}

struct Request {
  std::string output;
  tools::PackOptions pack;
  tools::ScanOptions scan;
  std::vector<double> split;
  bool overwrite = false;
};

std::string one_of(const std::string& value, const std::string& option,
                   const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == value) return value;
  }
  const std::string nearest = nearest_name(value, words);
  throw UsageError("--" + option + " '" + value + "' is not a known word",
                   "allowed: " + words[0] + " and others, see --help",
                   nearest.empty() ? "see pack_images --help" : "did you mean " + nearest + "?");
}

std::vector<double> parse_split(const std::string& text) {
  std::vector<double> weights;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t slash = std::min(text.find('/', from), text.size());
    weights.push_back(parse_double(text.substr(from, slash - from), "--split"));
    from = slash + 1;
  }
  const bool positive = std::all_of(weights.begin(), weights.end(), [](double w) { return w > 0; });
  if (weights.size() < 2 || weights.size() > 3 || !positive) {
    throw UsageError("--split '" + text + "' is no split", "it needs two or three positive numbers",
                     "write 80/10/10 (train, val, test) or 80/20 (train, test)");
  }
  return weights;
}

Request read_request(const po::variables_map& given) {
  Request request;
  const auto text = [&](const char* key) { return given[key].as<std::string>(); };
  if (given.count("in") == 0 || given.count("out") == 0) {
    throw UsageError("the folders are not given", "IN and OUT are needed",
                     "write pack_images IN OUT; see --help");
  }
  request.pack.root = text("in");
  request.output = text("out");
  if (given.count("size") > 0) request.pack.size = tools::parse_size(text("size"));
  const std::string fit = one_of(text("fit"), "fit", {"crop", "pad", "stretch"});
  request.pack.fit = fit == "crop"  ? data::Fit::kCrop
                     : fit == "pad" ? data::Fit::kPad
                                    : data::Fit::kStretch;
  request.pack.background = tools::parse_colour(text("background"));
  if (given.count("shard-size") > 0) {
    request.pack.shard_samples =
        tools::parse_count(text("shard-size"), "--shard-size", 1, 1LL << 40);
  }
  request.pack.threads = given.count("threads") > 0
                             ? tools::parse_count(text("threads"), "--threads", 1, 1024)
                             : tools::available_cores();
  request.pack.seed =
      static_cast<std::uint64_t>(tools::parse_count(text("seed"), "--seed", 0, INT64_MAX));
  request.pack.skip_bad = one_of(text("on-error"), "on-error", {"fail", "skip"}) == "skip";
  if (given.count("classes-from") > 0) {
    request.scan.classes = data::read_set_info(text("classes-from")).classes;
    request.scan.allow_empty_classes = false;
  }
  if (given.count("split") > 0) request.split = parse_split(text("split"));
  request.scan.allow_empty_classes = given.count("allow-empty-classes") > 0;
  request.overwrite = given.count("overwrite") > 0;
  return request;
}

void print_set(const std::string& place, const data::SetInfo& info) {
  std::printf("%s: %lld samples, %zu classes, %lldx%lld pixels, %zu shard%s, set id %s\n",
              place.c_str(), static_cast<long long>(info.samples), info.classes.size(),
              static_cast<long long>(info.height), static_cast<long long>(info.width),
              info.shards.size(), info.shards.size() == 1 ? "" : "s", info.set_id.c_str());
}

void pack(const Request& request) {
  const auto begin = std::chrono::steady_clock::now();
  const tools::ScanResult scan = tools::scan_folder(request.pack.root, request.scan);
  tools::StagingFolder staging(request.output, request.overwrite);
  std::map<std::string, std::int64_t> bad;
  std::vector<std::string> examples;
  std::int64_t packed = 0;
  const auto pack_part = [&](const std::vector<tools::FoundFile>& files, const std::string& part) {
    const std::string folder = staging.path() + part;
    if (!part.empty()) std::filesystem::create_directory(folder);
    const tools::PackSummary summary = tools::pack_files(request.pack, scan.classes, files, folder);
    for (const auto& [kind, count] : summary.bad) bad[kind] += count;
    examples.insert(examples.end(), summary.bad_examples.begin(), summary.bad_examples.end());
    packed += summary.info.samples;
    print_set(request.output + part, summary.info);
  };
  if (request.split.empty()) {
    pack_part(scan.files, "");
  } else {
    const auto parts = tools::split_files(scan.files, request.split, request.pack.seed);
    const std::vector<std::string> names =
        parts.size() == 2 ? std::vector<std::string>{"/train", "/test"}
                          : std::vector<std::string>{"/train", "/val", "/test"};
    for (std::size_t i = 0; i < parts.size(); ++i) pack_part(parts[i], names[i]);
  }
  std::int64_t bad_count = 0;
  for (const auto& [kind, count] : bad) bad_count += count;
  const std::int64_t found = static_cast<std::int64_t>(scan.files.size()) + scan.ignored_count();
  require(found == packed + scan.ignored_count() + bad_count, "pictures were lost",
          "the counts do not add up", "report this as a defect");
  tools::throw_if_stopped();
  staging.commit();

  std::printf("found %lld files = %lld packed + %lld ignored + %lld bad, in %.1f s\n",
              static_cast<long long>(found), static_cast<long long>(packed),
              static_cast<long long>(scan.ignored_count()), static_cast<long long>(bad_count),
              std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  for (const auto& [reason, count] : scan.ignored) {
    std::printf("  ignored %lld: %s\n", static_cast<long long>(count), reason.c_str());
  }
  for (const auto& [kind, count] : bad) {
    std::printf("  bad %lld: %s\n", static_cast<long long>(count), kind.c_str());
  }
  for (const std::string& example : examples) std::printf("    %s\n", example.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  return tools::run_tool("pack_images", [&] {
    po::options_description all = describe();
    all.add_options()("in", po::value<std::string>(), "")("out", po::value<std::string>(), "");
    po::positional_options_description places;
    places.add("in", 1).add("out", 1);
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
    tools::catch_stop_signals();
    pack(read_request(given));
  });
}
