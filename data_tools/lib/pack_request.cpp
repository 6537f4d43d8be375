#include "lib/pack_request.hpp"

#include <algorithm>

#include "lib/command_line.hpp"
#include "lib/pack_options.hpp"
#include "lib/places.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/base/cli.hpp"

namespace lockstep::tools {
namespace {

CommandLine describe() {
  CommandLine line(
      "pack_images",
      "Packs folders of class folders with JPEG and PNG pictures into OUT, a set of HDF5 shards.\n"
      "Class folders of one name in several INs are one class. found = packed + ignored + bad is\n"
      "checked and printed.\n\n"
      "  pack_images photos/train shards/train --size 224\n"
      "  pack_images photos/test  shards/test  --size 224 --classes-from shards/train\n"
      "  pack_images disk1/photos disk2/photos shards --size 224 --split 80/10/10",
      {"IN...", "OUT"});
  line.add_choice("class-order", {"byte", "natural"},
                  "of the class folders: as bytes (10 before 2), or numbers by value");
  line.add("classes", "FILE", "a file with the names of the class folders in order, one a line");
  line.add("classes-from", "SET", "a set whose classes to use, for validation and test sets");
  line.add(
      "split", "A/B/C|A/B",
      "shares of the pictures for OUT/train, OUT/val, OUT/test, or OUT/train, OUT/test, such as "
      "80/10/10; what counts is their ratio");
  line.add_choice("on-error", {"fail", "skip"}, "stop at a bad picture, or count it and go on");
  line.add_flag("allow-empty-classes", "keep classes without pictures");
  add_pack_options(line);
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

/// Which classes there are and in which order is said in one way.
ScanOptions read_scan_options(const CommandLine& line) {
  std::string first;
  for (const char* name : {"class-order", "classes", "classes-from"}) {
    if (!line.given(name)) continue;
    if (!first.empty()) {
      throw UsageError("--" + first + " and --" + name + " are both given",
                       "each says in which order the classes are", "leave one of them out");
    }
    first = name;
  }
  ScanOptions scan;
  scan.allow_empty_classes = line.given("allow-empty-classes");
  if (line.text("class-order") == "natural") scan.order = ClassOrder::kNatural;
  if (line.given("classes")) {
    scan.classes = read_class_list(line.text("classes"));
    scan.classes_from = "the list of --classes";
    scan.every_class_wanted = true;
  }
  if (line.given("classes-from")) {
    scan.classes = data::read_set_info(line.text("classes-from")).classes;
    scan.classes_from = "the set of --classes-from";
  }
  return scan;
}

}  // namespace

std::optional<PackRequest> read_pack_request(int argc, const char* const* argv) {
  CommandLine line = describe();
  if (!line.parse(argc, argv)) return std::nullopt;
  PackRequest request;
  request.roots = line.texts("IN");
  request.output = line.text("OUT");
  check_outside(request.roots, request.output, "IN");
  request.pack = read_pack_options(line, Transparency::kPossible);
  request.pack.skip_bad = line.text("on-error") == "skip";
  request.scan = read_scan_options(line);
  request.pack.allow_empty_classes = request.scan.allow_empty_classes;
  if (line.given("split")) request.split = parse_split(line.text("split"));
  return request;
}

}  // namespace lockstep::tools
