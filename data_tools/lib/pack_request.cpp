#include "lib/pack_request.hpp"

#include <algorithm>
#include <filesystem>

#include "lib/command_line.hpp"
#include "lib/tool.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/cli.hpp"

namespace lockstep::tools {
namespace {

CommandLine describe() {
  CommandLine line("pack_images",
                   "Packs a folder of class folders with JPEG and PNG pictures into OUT, a set of\n"
                   "HDF5 shards. found = packed + ignored + bad is checked and printed.",
                   {"IN", "OUT"});
  line.add("size", "N or HxW, pixels of the packed pictures; needed when they differ in size");
  line.add("fit", "cover the size and cut the centre; fit inside it; or scale each axis", "crop",
           {"crop", "pad", "stretch"});
  line.add("background", "R,G,B behind transparent pixels and around padded pictures", "0,0,0");
  line.add("classes-from", "a set whose classes to use, for validation and test sets");
  line.add("split", "80/10/10 makes OUT/train, OUT/val, OUT/test; 80/20 OUT/train, OUT/test");
  line.add("shard-size", "most samples in a shard; without it 10000, or as many as fit 256 MiB");
  line.add("shards", "number of shards, instead of --shard-size");
  line.add("threads", "decoding threads; without it one for each core");
  line.add("seed", "of the order of samples and of the split", "0");
  line.add("on-error", "stop at a bad picture, or count it and go on", "fail", {"fail", "skip"});
  line.add_flag("allow-empty-classes", "keep classes without pictures");
  line.add_flag("overwrite",
                "replace OUT if it is a set; the old one stays until the new is whole");
  return line;
}

std::vector<double> parse_split(const std::string& text) {
  std::vector<double> weights;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t slash = std::min(text.find('/', from), text.size());
    weights.push_back(parse_double(text.substr(from, slash - from), "--split"));
    from = slash + 1;
  }
  // The limit keeps their sum a number.
  const bool good =
      std::all_of(weights.begin(), weights.end(), [](double w) { return w > 0 && w <= 1e9; });
  if (weights.size() < 2 || weights.size() > 3 || !good) {
    throw UsageError("--split '" + text + "' is no split",
                     "it needs two or three positive numbers up to 1e9",
                     "write 80/10/10 (train, val, test) or 80/20 (train, test)");
  }
  return weights;
}

data::Fit parse_fit(const std::string& word) {
  if (word == "pad") return data::Fit::kPad;
  return word == "stretch" ? data::Fit::kStretch : data::Fit::kCrop;
}

/// An output below the input would be taken for a class the next time.
void check_places(const std::string& input, const std::string& output) {
  namespace fs = std::filesystem;
  const fs::path from = fs::weakly_canonical(input);
  const fs::path to = fs::weakly_canonical(output);
  const auto [end, rest] = std::mismatch(from.begin(), from.end(), to.begin(), to.end());
  if (end == from.end()) {
    throw UsageError("OUT '" + output + "' lies in IN '" + input + "'",
                     "it would be a class of that folder", "give an output folder outside of it");
  }
}

}  // namespace

std::optional<PackRequest> read_pack_request(int argc, const char* const* argv) {
  CommandLine line = describe();
  if (!line.parse(argc, argv)) return std::nullopt;
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  PackRequest request;
  request.pack.root = line.text("IN");
  request.output = line.text("OUT");
  check_places(request.pack.root, request.output);
  if (line.given("size")) request.pack.size = parse_size(line.text("size"));
  request.pack.fit = parse_fit(line.text("fit"));
  if (line.given("fit") && !line.given("size")) {
    throw UsageError("--fit has no effect", "no --size is given", "give --size, too");
  }
  request.pack.background = parse_colour(line.text("background"));
  if (line.given("shard-size") && line.given("shards")) {
    throw UsageError("--shard-size and --shards are both given", "one follows from the other",
                     "leave one of them out");
  }
  if (line.given("shard-size")) {
    request.pack.shard_samples = parse_count(line.text("shard-size"), "--shard-size", 1, kMost);
  }
  if (line.given("shards")) {
    request.pack.shards = parse_count(line.text("shards"), "--shards", 1, 99'999);
  }
  request.pack.threads = line.given("threads")
                             ? parse_count(line.text("threads"), "--threads", 1, 1024)
                             : available_cores();
  request.pack.seed =
      static_cast<std::uint64_t>(parse_count(line.text("seed"), "--seed", 0, INT64_MAX));
  request.pack.skip_bad = line.text("on-error") == "skip";
  request.pack.allow_empty_classes = line.given("allow-empty-classes");
  request.scan.allow_empty_classes = request.pack.allow_empty_classes;
  if (line.given("classes-from")) {
    request.scan.classes = data::read_set_info(line.text("classes-from")).classes;
  }
  if (line.given("split")) request.split = parse_split(line.text("split"));
  request.overwrite = line.given("overwrite");
  return request;
}

}  // namespace lockstep::tools
