#include <chrono>
#include <cstdio>
#include <numeric>
#include <set>

#include "lib/command_line.hpp"
#include "lib/places.hpp"
#include "lib/staging.hpp"
#include "lib/stop.hpp"
#include "lib/tool.hpp"
#include "lib/unpack.hpp"
#include "lockstep/base/check.hpp"

namespace {

using namespace lockstep;

tools::CommandLine describe() {
  tools::CommandLine line(
      "unpack_shards",
      "Writes the pictures of a set of shards as PNG files, every pixel as it is stored, into a\n"
      "folder for each class: OUT/CLASS/NAME.png, named after the file each came from. "
      "pack_images\n"
      "packs them again to the same pixels. OUT/samples.jsonl lists them with index, label and\n"
      "source.\n\n"
      "  unpack_shards shards/train pictures\n"
      "  unpack_shards shards/train few --index 17,4 --index 90",
      {"SET", "OUT"});
  line.add_list("index", "N|N,N,...", "these samples alone; may be given several times");
  line.add("limit", "N", "the first N samples alone");
  line.add_flag("overwrite",
                "replace OUT if unpack_shards made it; the old one stays until the new is whole");
  return line;
}

/// The samples that the command line asks for, each once, in the order of the set.
std::vector<std::int64_t> wanted_samples(const tools::CommandLine& line,
                                         const data::ShardSet& set) {
  if (line.given("index") && line.given("limit")) {
    throw UsageError("--index and --limit are both given", "each says which samples to write",
                     "leave one of them out");
  }
  std::set<std::int64_t> indices;
  for (const std::string& text : line.texts("index")) {
    for (std::size_t from = 0; from <= text.size();) {
      const std::size_t comma = std::min(text.find(',', from), text.size());
      indices.insert(
          tools::parse_count(text.substr(from, comma - from), "--index", 0, set.size() - 1));
      from = comma + 1;
    }
  }
  if (!indices.empty()) return {indices.begin(), indices.end()};
  std::int64_t count = set.size();
  if (line.given("limit")) {
    count = std::min(count, tools::parse_count(line.text("limit"), "--limit", 1, INT64_MAX));
  }
  std::vector<std::int64_t> first(static_cast<std::size_t>(count));
  std::iota(first.begin(), first.end(), std::int64_t{0});
  return first;
}

void print_samples(const data::ShardSet& set, const std::vector<tools::UnpackedSample>& samples,
                   const std::string& output) {
  for (const tools::UnpackedSample& sample : samples) {
    const std::int32_t label = set.labels()[static_cast<std::size_t>(sample.index)];
    std::printf("sample %lld: label %d, class '%s', from '%s', in %s/%s\n",
                static_cast<long long>(sample.index), label,
                set.info().classes[static_cast<std::size_t>(label)].c_str(), sample.source.c_str(),
                output.c_str(), sample.file.c_str());
  }
}

void unpack(const tools::CommandLine& line) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string output = line.text("OUT");
  tools::check_outside({line.text("SET")}, output, "SET");
  tools::check_destination(output, line.given("overwrite"), tools::unpacked_pictures());
  const data::ShardSet set(line.text("SET"));
  const std::vector<tools::UnpackedSample> samples =
      tools::unpack_samples(set, wanted_samples(line, set), output, line.given("overwrite"));
  if (line.given("index")) print_samples(set, samples, output);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("unpacked %zu of %lld samples of %s into %s, in %.1f s\n", samples.size(),
              static_cast<long long>(set.size()), set.folder().c_str(), output.c_str(),
              seconds.count());
}

}  // namespace

int main(int argc, char** argv) {
  return tools::run_tool("unpack_shards", [&] {
    tools::CommandLine line = describe();
    if (!line.parse(argc, argv)) return;
    tools::catch_stop_signals();
    unpack(line);
  });
}
