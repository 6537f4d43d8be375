#include "lib/cifar.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>

#include "lib/archive.hpp"
#include "lib/cifar_batch.hpp"
#include "lib/class_list.hpp"
#include "lockstep/base/check.hpp"

namespace lockstep::tools {
namespace {

/// One version of the archives: its files, and where the labels are in them. The first of two
/// labels or names is the fine one.
struct Version {
  const char* name;
  bool pickled;
  std::vector<std::string> train;
  std::vector<std::string> test;
  std::vector<std::string> name_files;
  std::vector<std::string> name_keys;    // of a pickle
  std::vector<std::string> label_keys;   // of a pickle
  std::size_t label_bytes;               // of a binary record: coarse, fine
  std::array<std::int64_t, 2> official;  // pictures of train and test

  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> all = train;
    all.insert(all.end(), test.begin(), test.end());
    all.insert(all.end(), name_files.begin(), name_files.end());
    return all;
  }
  [[nodiscard]] bool has_coarse() const { return label_keys.size() == 2; }
};

const std::vector<Version>& versions() {
  constexpr std::array<std::int64_t, 2> kOfficial{50'000, 10'000};
  static const std::vector<Version> kVersions{
      {"CIFAR-10, binary version",
       false,
       {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
        "data_batch_5.bin"},
       {"test_batch.bin"},
       {"batches.meta.txt"},
       {},
       {"labels"},
       1,
       kOfficial},
      {"CIFAR-10, python version",
       true,
       {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"},
       {"test_batch"},
       {"batches.meta"},
       {"label_names"},
       {"labels"},
       0,
       kOfficial},
      {"CIFAR-100, binary version",
       false,
       {"train.bin"},
       {"test.bin"},
       {"fine_label_names.txt", "coarse_label_names.txt"},
       {},
       {"fine_labels", "coarse_labels"},
       2,
       kOfficial},
      {"CIFAR-100, python version",
       true,
       {"train"},
       {"test"},
       {"meta"},
       {"fine_label_names", "coarse_label_names"},
       {"fine_labels", "coarse_labels"},
       0,
       kOfficial},
  };
  return kVersions;
}

using Files = std::map<std::string, Bytes>;

std::set<std::string> all_names() {
  std::set<std::string> names;
  for (const Version& version : versions()) {
    const auto files = version.files();
    names.insert(files.begin(), files.end());
  }
  return names;
}

/// The version that the files are of: the one of which most are there. All of them must be.
const Version& version_of(const std::string& input, const Files& files) {
  const auto there = [&](const Version& version) {
    const auto names = version.files();
    return std::count_if(names.begin(), names.end(),
                         [&](const std::string& name) { return files.contains(name); });
  };
  const auto best =
      std::max_element(versions().begin(), versions().end(),
                       [&](const Version& a, const Version& b) { return there(a) < there(b); });
  const std::string hint =
      "give cifar-10-binary.tar.gz, cifar-10-python.tar.gz, cifar-100-binary.tar.gz, "
      "cifar-100-python.tar.gz, or the folder one of them unpacks to";
  require(there(*best) > 0, "'" + input + "' is no archive of CIFAR", "it has none of its files",
          hint);
  for (const std::string& name : best->files()) {
    require(files.contains(name), "'" + input + "' is incomplete",
            std::string(best->name) + " has a file " + name + ", here it is missing", hint);
  }
  return *best;
}

std::vector<std::string> read_classes(const Version& version, Files& files, std::size_t kind) {
  std::vector<std::string> classes;
  const std::string& file = version.name_files[version.pickled ? 0 : kind];
  if (version.pickled) {
    classes = read_pickled_names(file, std::move(files[file]), version.name_keys[kind]);
  } else {
    classes = names_in({files[file].begin(), files[file].end()});
  }
  const std::string why = fault_of_classes(classes);
  require(why.empty(), "cannot use '" + file + "'", why, "download the archive again");
  return classes;
}

CifarBatch read_batch(const Version& version, Files& files, const std::string& file,
                      std::size_t kind) {
  if (version.pickled) {
    return read_pickled_batch(file, std::move(files[file]), version.label_keys[kind]);
  }
  // Of two labels the coarse one comes first.
  const std::size_t label_at = version.has_coarse() && kind == 0 ? 1 : 0;
  return read_binary_batch(file, std::move(files[file]), version.label_bytes, label_at);
}

/// A sample's origin: which batch, which record of it.
constexpr unsigned kRecordBits = 32;

void add_samples(const CifarBatch& batch, std::size_t index, SampleSource& source) {
  for (std::size_t i = 0; i < batch.labels.size(); ++i) {
    const std::int64_t label = batch.labels[i];
    require(label >= 0 && label < static_cast<std::int64_t>(source.classes.size()),
            "cannot use '" + batch.file + "'",
            "record " + std::to_string(i) + " has label " + std::to_string(label) + " of " +
                std::to_string(source.classes.size()) + " classes",
            "download the archive again");
    std::string path = numbered(batch.file, i);
    if (!batch.names.empty()) path += "-" + batch.names[i];
    source.samples.push_back({static_cast<std::int32_t>(label), std::move(path),
                              (static_cast<std::uint64_t>(index) << kRecordBits) | i});
  }
}

SampleSource read_part(const Version& version, Files& files, const std::vector<std::string>& names,
                       const std::vector<std::string>& classes, std::size_t kind) {
  SampleSource source;
  source.classes = classes;
  auto batches = std::make_shared<std::vector<CifarBatch>>();
  for (const std::string& name : names) {
    batches->push_back(read_batch(version, files, name, kind));
    add_samples(batches->back(), batches->size() - 1, source);
  }
  source.decode = [batches](const Sample& sample) {
    const CifarBatch& batch = (*batches)[sample.origin >> kRecordBits];
    return batch.picture(static_cast<std::uint32_t>(sample.origin));
  };
  return source;
}

}  // namespace

Cifar read_cifar(const std::string& input, std::optional<CifarLabels> labels) {
  Files files = read_named_files(input, all_names());
  const Version& version = version_of(input, files);
  if (labels && !version.has_coarse()) {
    throw UsageError("--labels has no effect",
                     "'" + input + "' is " + version.name + ", which has one kind of labels",
                     "leave it out");
  }
  const std::size_t kind = labels == CifarLabels::kCoarse ? 1 : 0;
  Cifar cifar;
  cifar.version = version.name;
  const std::vector<std::string> classes = read_classes(version, files, kind);
  cifar.parts.push_back({"train", read_part(version, files, version.train, classes, kind)});
  cifar.parts.push_back({"test", read_part(version, files, version.test, classes, kind)});
  for (std::size_t i = 0; i < cifar.parts.size(); ++i) {
    const auto count = static_cast<std::int64_t>(cifar.parts[i].source.samples.size());
    if (count != version.official[i]) {
      cifar.notes.push_back(cifar.parts[i].name + " has " + std::to_string(count) +
                            " pictures, that of the official archive has " +
                            std::to_string(version.official[i]));
    }
  }
  return cifar;
}

}  // namespace lockstep::tools
