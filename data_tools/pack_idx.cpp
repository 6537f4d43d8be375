#include <chrono>
#include <cstdio>

#include "lib/class_list.hpp"
#include "lib/command_line.hpp"
#include "lib/idx.hpp"
#include "lib/pack_options.hpp"
#include "lib/pack_sets.hpp"
#include "lib/staging.hpp"
#include "lib/stop.hpp"
#include "lib/tool.hpp"
#include "lockstep/base/check.hpp"

namespace {

using namespace lockstep;

tools::CommandLine describe() {
  tools::CommandLine line(
      "pack_idx",
      "Packs a pair of IDX files, the format of MNIST and its kin, into OUT, a set of HDF5 "
      "shards.\n"
      "IMAGES has unsigned bytes of shape [n, height, width] (grey, packed as three equal "
      "channels)\n"
      "or [n, height, width, 3], LABELS has shape [n]. Both may be gzip's, as they are "
      "downloaded.\n\n"
      "  pack_idx train-images-idx3-ubyte.gz train-labels-idx1-ubyte.gz shards/train\n"
      "  pack_idx t10k-images-idx3-ubyte.gz  t10k-labels-idx1-ubyte.gz  shards/test",
      {"IMAGES", "LABELS", "OUT"});
  line.add("classes", "FILE", "a file with the names of the classes in order, one a line",
           "0 to 9");
  line.add_flag("allow-empty-classes", "keep classes without pictures");
  tools::add_pack_options(line);
  return line;
}

std::vector<std::string> read_classes(const tools::CommandLine& line) {
  if (line.given("classes")) return tools::read_class_list(line.text("classes"));
  return {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
}

void check_no_class_empty(const tools::SampleSource& source, const std::string& file) {
  std::vector<bool> filled(source.classes.size());
  for (const tools::Sample& sample : source.samples) {
    filled[static_cast<std::size_t>(sample.label)] = true;
  }
  for (std::size_t i = 0; i < filled.size(); ++i) {
    if (!filled[i]) {
      throw UsageError("class '" + source.classes[i] + "' has no picture in '" + file + "'",
                       "a class without pictures cannot be learned",
                       "add pictures of it, or give --allow-empty-classes");
    }
  }
}

void pack(const tools::CommandLine& line) {
  const auto begin = std::chrono::steady_clock::now();
  const tools::PackOptions options = tools::read_pack_options(line, tools::Transparency::kNone);
  tools::check_destination(line.text("OUT"), options.overwrite);
  tools::SampleSource source =
      tools::read_idx(line.text("IMAGES"), line.text("LABELS"), read_classes(line));
  if (!line.given("allow-empty-classes")) check_no_class_empty(source, line.text("LABELS"));
  std::vector<tools::PackPart> parts;
  parts.push_back({"", std::move(source)});
  const tools::PackResult result = tools::pack_sets(options, std::move(parts), line.text("OUT"));
  tools::print_sets(result);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("packed %lld pictures of %s, in %.1f s\n", static_cast<long long>(result.packed()),
              line.text("IMAGES").c_str(), seconds.count());
}

}  // namespace

int main(int argc, char** argv) {
  return tools::run_tool("pack_idx", [&] {
    tools::CommandLine line = describe();
    if (!line.parse(argc, argv)) return;
    tools::catch_stop_signals();
    pack(line);
  });
}
