#include "lib/pack_options.hpp"

#include "lib/tool.hpp"
#include "lockstep/base/check.hpp"

namespace lockstep::tools {

void add_pack_options(CommandLine& line) {
  line.add("size", "N|HxW", "pixels of the packed pictures; needed when they differ in size");
  line.add_choice("fit", {"crop", "pad", "stretch"},
                  "cover the size and cut the centre; fit inside it; or scale each axis");
  line.add("background", "R,G,B", "colour behind transparent pixels and around padded pictures",
           "0,0,0");
  line.add("shard-size", "N",
           "most samples in a shard; without it 10000, or as many as fit 256 MiB");
  line.add("shards", "N", "number of shards, instead of --shard-size");
  line.add("threads", "N", "decoding threads; without it one for each core");
  line.add("seed", "N", "of the order of samples, and of a split", "0");
  line.add_flag(
      "overwrite",
      "replace OUT if it is a set, or a folder of sets train, val, test and nothing else; "
      "the old stays until the new is whole");
}

PackOptions read_pack_options(const CommandLine& line, Transparency transparency) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  PackOptions options;
  if (line.given("size")) options.size = parse_size(line.text("size"));
  options.fit = data::fit_from_name(line.text("fit")).value_or(options.fit);
  if (line.given("fit") && !line.given("size")) {
    throw UsageError("--fit has no effect", "no --size is given", "give --size, too");
  }
  options.background = parse_colour(line.text("background"));
  if (line.given("background") && transparency == Transparency::kNone &&
      options.fit != data::Fit::kPad) {
    throw UsageError("--background has no effect",
                     "these pictures have no transparent pixels, and --fit is not pad",
                     "give --size and --fit pad, too, or leave it out");
  }
  if (line.given("shard-size") && line.given("shards")) {
    throw UsageError("--shard-size and --shards are both given", "one follows from the other",
                     "leave one of them out");
  }
  if (line.given("shard-size")) {
    options.shard_samples = parse_count(line.text("shard-size"), "--shard-size", 1, kMost);
  }
  if (line.given("shards")) {
    options.shards = parse_count(line.text("shards"), "--shards", 1, 99'999);
  }
  options.threads = line.given("threads") ? parse_count(line.text("threads"), "--threads", 1, 1024)
                                          : available_cores();
  options.seed = static_cast<std::uint64_t>(parse_count(line.text("seed"), "--seed", 0, INT64_MAX));
  options.overwrite = line.given("overwrite");
  return options;
}

}  // namespace lockstep::tools
