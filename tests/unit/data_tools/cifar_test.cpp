#include "lib/cifar.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "archives.hpp"
#include "lib/cifar_batch.hpp"
#include "lockstep/base/check.hpp"
#include "support/pickles.hpp"
#include "temp_folder.hpp"

namespace lockstep::tools {
namespace {

using namespace pickles;
using Files = std::map<std::string, std::string>;

/// Value v of picture number n: another one for each channel, place and picture.
char pixel(std::size_t n, std::size_t v) { return static_cast<char>(n * 31 + v * 7 + v / 1024); }

std::string pixels(std::size_t n) {
  std::string all;
  for (std::size_t v = 0; v < kCifarValues; ++v) all += pixel(n, v);
  return all;
}

/// Binary records of pictures first, first + 1, ...; `labels` gives the bytes before each.
std::string records(std::size_t first, const std::vector<std::string>& labels) {
  std::string all;
  for (std::size_t i = 0; i < labels.size(); ++i) all += labels[i] + pixels(first + i);
  return all;
}

std::string pickled_list(const std::vector<std::string>& items) {
  std::string all = "](";
  for (const std::string& item : items) all += item;
  return all + "e";
}

Files cifar10_binary() {
  Files files{{"batches.meta.txt", "airplane\nautomobile\nbird\n\n"}};
  for (std::size_t i = 0; i < 5; ++i) {
    files["data_batch_" + std::to_string(i + 1) + ".bin"] = records(2 * i, {"\1", "\2"});
  }
  files["test_batch.bin"] = records(10, {std::string(1, '\0')});
  return files;
}

std::string python_batch(std::size_t first, const std::vector<unsigned>& labels, MakeBytes bytes,
                         const std::vector<std::string>& keys) {
  std::string values;
  std::vector<std::string> numbers;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    values += pixels(first + i);
    numbers.push_back(int1(labels[i]));
    names.push_back(bytes("pic_" + std::to_string(first + i) + ".png"));
  }
  std::string all = proto(2) + "}(" + bytes("batch_label") + bytes("one of many");
  for (const std::string& key : keys) all += bytes(key) + pickled_list(numbers);
  all += bytes("data") + array(static_cast<unsigned>(labels.size()), kCifarValues, values, bytes);
  return all + bytes("filenames") + pickled_list(names) + "u.";
}

Files cifar10_python(MakeBytes bytes) {
  Files files{{"batches.meta",
               proto(2) + "}(" + bytes("num_vis") + int2(3072) + bytes("label_names") +
                   pickled_list({bytes("airplane"), bytes("automobile"), bytes("bird")}) + "u."}};
  for (std::size_t i = 0; i < 5; ++i) {
    files["data_batch_" + std::to_string(i + 1)] = python_batch(2 * i, {1, 2}, bytes, {"labels"});
  }
  files["test_batch"] = python_batch(10, {0}, bytes, {"labels"});
  return files;
}

Files cifar100_binary() {
  return {{"fine_label_names.txt", "apple\nbee\ncat\n"},
          {"coarse_label_names.txt", "fruit\nanimal\n"},
          {"train.bin", records(0, {std::string("\0\0", 2), "\1\2", "\1\1"})},
          {"test.bin", records(3, {"\1\1"})}};
}

std::string archive_of(const Files& files) {
  std::string all;
  for (const auto& [name, text] : files) all += tar_entry("cifar/" + name, text);
  return gzipped(all + tar_end());
}

Cifar read(const Files& files, std::optional<CifarLabels> labels = {}) {
  const TempFolder root;
  root.touch("archive", archive_of(files));
  return read_cifar(root / "archive", labels);
}

void expect_pictures(const SampleSource& source, std::size_t first) {
  for (std::size_t n = 0; n < source.samples.size(); ++n) {
    const data::Image image = source.decode(source.samples[n]);
    ASSERT_EQ(image.rgb.size(), kCifarValues);
    for (std::size_t i = 0; i < kCifarPixels; ++i) {
      for (std::size_t c = 0; c < 3; ++c) {
        ASSERT_EQ(image.rgb[i * 3 + c],
                  static_cast<std::uint8_t>(pixel(first + n, c * kCifarPixels + i)))
            << "picture " << n << ", pixel " << i << ", channel " << c;
      }
    }
  }
}

std::vector<std::int32_t> labels_of(const SampleSource& source) {
  std::vector<std::int32_t> labels;
  for (const Sample& sample : source.samples) labels.push_back(sample.label);
  return labels;
}

using Labels = std::vector<std::int32_t>;
using Names = std::vector<std::string>;

TEST(Cifar, AllVersionsOfCifar10AreTheSamePictures) {
  for (const Files& files : {cifar10_binary(), cifar10_python(string2), cifar10_python(encoded),
                             cifar10_python(bytes3)}) {
    const Cifar cifar = read(files);
    ASSERT_EQ(cifar.parts.size(), 2U);
    EXPECT_TRUE(cifar.version.starts_with("CIFAR-10, ")) << cifar.version;
    EXPECT_EQ(cifar.parts[0].name, "train");
    EXPECT_EQ(cifar.parts[1].name, "test");
    EXPECT_EQ(cifar.parts[0].source.classes, (Names{"airplane", "automobile", "bird"}));
    EXPECT_EQ(labels_of(cifar.parts[0].source), (Labels{1, 2, 1, 2, 1, 2, 1, 2, 1, 2}));
    EXPECT_EQ(labels_of(cifar.parts[1].source), (Labels{0}));
    expect_pictures(cifar.parts[0].source, 0);
    expect_pictures(cifar.parts[1].source, 10);
    ASSERT_EQ(cifar.notes.size(), 2U);
    EXPECT_NE(cifar.notes[0].find("train has 10 pictures"), std::string::npos);
  }
}

TEST(Cifar, SourcePathsNameFileRecordAndPicture) {
  EXPECT_EQ(read(cifar10_binary()).parts[0].source.samples[3].path, "data_batch_2.bin/000001");
  EXPECT_EQ(read(cifar10_python(string2)).parts[0].source.samples[3].path,
            "data_batch_2/000001-pic_3.png");
}

TEST(Cifar, FineAndCoarseLabelsOfCifar100) {
  for (const auto labels : {std::optional<CifarLabels>{}, std::optional(CifarLabels::kFine)}) {
    const Cifar fine = read(cifar100_binary(), labels);
    EXPECT_EQ(fine.parts[0].source.classes, (Names{"apple", "bee", "cat"}));
    EXPECT_EQ(labels_of(fine.parts[0].source), (Labels{0, 2, 1}));
    expect_pictures(fine.parts[0].source, 0);
  }
  const Cifar coarse = read(cifar100_binary(), CifarLabels::kCoarse);
  EXPECT_EQ(coarse.parts[0].source.classes, (Names{"fruit", "animal"}));
  EXPECT_EQ(labels_of(coarse.parts[0].source), (Labels{0, 1, 1}));
  EXPECT_EQ(coarse.version, "CIFAR-100, binary version");

  const Files python{{"meta", proto(2) + "}(" + string2("fine_label_names") +
                                  pickled_list({string2("apple"), string2("bee")}) +
                                  string2("coarse_label_names") +
                                  pickled_list({string2("all"), string2("none")}) + "u."},
                     {"train", python_batch(0, {1, 0}, string2, {"fine_labels", "coarse_labels"})},
                     {"test", python_batch(2, {1}, string2, {"fine_labels", "coarse_labels"})}};
  EXPECT_EQ(read(python).parts[0].source.classes, (Names{"apple", "bee"}));
  EXPECT_EQ(read(python, CifarLabels::kCoarse).parts[1].source.classes, (Names{"all", "none"}));
  EXPECT_EQ(labels_of(read(python).parts[0].source), (Labels{1, 0}));
}

TEST(Cifar, AFolderIsReadAsTheArchive) {
  const TempFolder root;
  for (const auto& [name, text] : cifar10_binary()) root.touch("in/" + name, text);
  root.touch("in/readme.html", "not needed");
  const Cifar cifar = read_cifar(root / "in", {});
  EXPECT_EQ(cifar.parts[0].source.samples.size(), 10U);
  expect_pictures(cifar.parts[0].source, 0);
}

TEST(Cifar, WhatIsWrongIsNamed) {
  const auto refusal = [](Files files, const std::function<void(Files&)>& change) {
    change(files);
    try {
      (void)read(files);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing was refused");
  };
  const std::string last = "data_batch_5.bin";
  const std::vector<std::pair<std::string, std::function<void(Files&)>>> changes{
      {"no archive of CIFAR", [](Files& f) { f.clear(); }},
      {"data_batch_5.bin, here it is missing", [&](Files& f) { f.erase(last); }},
      {"batches.meta.txt, here it is missing", [](Files& f) { f.erase("batches.meta.txt"); }},
      {"3072 bytes", [&](Files& f) { f[last].resize(3072); }},
      {"6147 bytes", [&](Files& f) { f[last] += 'x'; }},
      {"0 bytes", [&](Files& f) { f[last].clear(); }},
      {"record 1 has label 3 of 3 classes", [&](Files& f) { f[last][3073] = '\3'; }},
      {"named twice", [](Files& f) { f["batches.meta.txt"] = "a\na\nb\n"; }},
      {"it names no class", [](Files& f) { f["batches.meta.txt"] = "\n"; }},
  };
  for (const auto& [word, change] : changes) {
    const std::string said = refusal(cifar10_binary(), change);
    EXPECT_NE(said.find(word), std::string::npos) << word << ": " << said;
  }
  const std::string pickled = refusal(cifar10_python(string2), [](Files& f) {
    f["test_batch"] = python_batch(10, {9}, string2, {"labels"});
  });
  EXPECT_NE(pickled.find("test_batch"), std::string::npos) << pickled;
  EXPECT_NE(pickled.find("label 9 of 3"), std::string::npos) << pickled;
  EXPECT_THROW((void)read(cifar10_binary(), CifarLabels::kFine), UsageError);
}

}  // namespace
}  // namespace lockstep::tools
