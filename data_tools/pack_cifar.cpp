#include <chrono>
#include <cstdio>
#include <optional>

#include "lib/cifar.hpp"
#include "lib/command_line.hpp"
#include "lib/pack_options.hpp"
#include "lib/pack_sets.hpp"
#include "lib/staging.hpp"
#include "lib/stop.hpp"
#include "lib/tool.hpp"

namespace {

using namespace lockstep;

tools::CommandLine describe() {
  tools::CommandLine line(
      "pack_cifar",
      "Packs CIFAR-10 or CIFAR-100 into OUT/train and OUT/test, two sets of HDF5 shards. IN is an\n"
      "official archive as it is downloaded (cifar-10-binary.tar.gz, cifar-10-python.tar.gz,\n"
      "cifar-100-binary.tar.gz, cifar-100-python.tar.gz) or the folder that it unpacks to. "
      "Pickles\n"
      "are read as data: nothing in them is run.\n\n"
      "  pack_cifar cifar-10-binary.tar.gz shards/cifar10\n"
      "  pack_cifar cifar-100-python.tar.gz shards/cifar20 --labels coarse",
      {"IN", "OUT"});
  line.add_choice("labels", {"fine", "coarse"},
                  "of CIFAR-100: its 100 classes, or its 20 groups of classes");
  tools::add_pack_options(line);
  return line;
}

void pack(const tools::CommandLine& line) {
  const auto begin = std::chrono::steady_clock::now();
  const tools::PackOptions options = tools::read_pack_options(line, tools::Transparency::kNone);
  std::optional<tools::CifarLabels> labels;
  if (line.given("labels")) {
    labels =
        line.text("labels") == "coarse" ? tools::CifarLabels::kCoarse : tools::CifarLabels::kFine;
  }
  tools::check_destination(line.text("OUT"), options.overwrite);
  tools::Cifar cifar = tools::read_cifar(line.text("IN"), labels);
  const tools::PackResult result =
      tools::pack_sets(options, std::move(cifar.parts), line.text("OUT"));
  tools::print_sets(result);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::printf("packed %lld pictures of %s, in %.1f s\n", static_cast<long long>(result.packed()),
              cifar.version.c_str(), seconds.count());
  for (const std::string& note : cifar.notes) std::printf("  note: %s\n", note.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  return tools::run_tool("pack_cifar", [&] {
    tools::CommandLine line = describe();
    if (!line.parse(argc, argv)) return;
    tools::catch_stop_signals();
    pack(line);
  });
}
