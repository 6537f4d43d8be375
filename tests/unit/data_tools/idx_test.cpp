#include "lib/idx.hpp"

#include <gtest/gtest.h>

#include "archives.hpp"
#include "lockstep/base/check.hpp"
#include "temp_folder.hpp"

namespace lockstep::tools {
namespace {

const std::vector<std::string> kDigits{"0", "1", "2"};

std::string header(const std::vector<unsigned>& shape, char type = 8) {
  std::string text{'\0', '\0', type, static_cast<char>(shape.size())};
  for (const unsigned n : shape) {
    for (const unsigned shift : {24U, 16U, 8U, 0U}) text += static_cast<char>(n >> shift);
  }
  return text;
}

/// Values 0, 1, 2, ...
std::string rising(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += static_cast<char>(i);
  return text;
}

/// What is said of a pair of files; "" when it is read.
std::string refusal(const std::string& images, const std::string& labels) {
  const TempFolder root;
  root.touch("images", images);
  root.touch("labels", labels);
  try {
    (void)read_idx(root / "images", root / "labels", kDigits);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

const std::string kImages = header({3, 2, 4}) + rising(24);
const std::string kLabels = header({3}) + std::string("\2\0\1", 3);

TEST(Idx, GreyBecomesThreeEqualChannels) {
  const TempFolder root;
  root.touch("images-idx3-ubyte.gz", gzipped(kImages));
  root.touch("labels", kLabels);
  const SampleSource source = read_idx(root / "images-idx3-ubyte.gz", root / "labels", kDigits);
  EXPECT_EQ(source.classes, kDigits);
  ASSERT_EQ(source.samples.size(), 3U);
  const std::vector<int> labels{2, 0, 1};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(source.samples[i].label, labels[i]);
    EXPECT_EQ(source.samples[i].path, "images-idx3-ubyte/00000" + std::to_string(i));
    const data::Image image = source.decode(source.samples[i]);
    EXPECT_EQ(image.height, 2);
    EXPECT_EQ(image.width, 4);
    ASSERT_EQ(image.rgb.size(), 24U);
    for (std::size_t k = 0; k < 24; ++k) EXPECT_EQ(image.rgb[k], i * 8 + k / 3);
  }
}

TEST(Idx, ThreeChannelsAreTakenAsTheyAre) {
  const TempFolder root;
  root.touch("images", header({2, 2, 2, 3}) + rising(24));
  root.touch("labels", header({2}) + std::string("\1\1", 2));
  const SampleSource source = read_idx(root / "images", root / "labels", kDigits);
  const data::Image image = source.decode(source.samples[1]);
  ASSERT_EQ(image.rgb.size(), 12U);
  for (std::size_t k = 0; k < 12; ++k) EXPECT_EQ(image.rgb[k], 12 + k);
}

TEST(Idx, WrongFilesAreNamedWithTheReason) {
  const std::vector<std::pair<std::string, std::string>> wrong_images{
      {"", "does not begin"},
      {"no IDX file", "does not begin"},
      {header({3, 2, 4}, 13) + rising(96), "type 13"},
      {header({3, 2, 4}).substr(0, 10), "header is cut off"},
      {header({3, 2, 4}) + rising(23), "announces 24 values, there are 23"},
      {header({3, 2, 4}) + rising(25), "more values than the 24"},
      {header({24}) + rising(24), "[24] is not that of pictures"},
      {header({3, 8}) + rising(24), "[3, 8] is not that of pictures"},
      {header({1, 2, 3, 4}) + rising(24), "[1, 2, 3, 4] is not that of pictures"},
      {header({1, 1, 1, 8, 3}) + rising(24), "none of pictures"},
      {header({0, 2, 4}), "none of pictures"},
      {header({4294967295U, 4294967295U, 4294967295U}) + rising(3), "none of pictures"},
      // A header alone takes no memory.
      {header({100'000, 100, 100}) + rising(3), "there are 3"},
      {header({1, 70'000, 1}) + rising(70'000), "65535 pixels a side"},
      {header({}) + rising(1), "[] is not that of pictures"},
  };
  for (const auto& [images, word] : wrong_images) {
    const std::string said = refusal(images, kLabels);
    EXPECT_NE(said.find(word), std::string::npos) << word << ": " << said;
    EXPECT_NE(said.find("images'"), std::string::npos) << said;
  }
  const std::vector<std::pair<std::string, std::string>> wrong_labels{
      {header({2}) + rising(2), "2 labels for 3 pictures"},
      {header({3, 1}) + rising(3), "[3, 1] is not that of labels"},
      {header({3}) + std::string("\0\1\3", 3), "sample 2 has label 3 of 3 classes"},
      {kImages, "[3, 2, 4] is not that of labels"},
  };
  for (const auto& [labels, word] : wrong_labels) {
    const std::string said = refusal(kImages, labels);
    EXPECT_NE(said.find(word), std::string::npos) << word << ": " << said;
    EXPECT_NE(said.find("labels'"), std::string::npos) << said;
  }
  EXPECT_EQ(refusal(kImages, kLabels), "");
}

TEST(Idx, NoCutOrTamperedHeaderIsTaken) {
  for (std::size_t size = 0; size < kImages.size(); ++size) {
    EXPECT_NE(refusal(kImages.substr(0, size), kLabels), "") << size;
  }
  for (std::size_t at = 0; at < 16; ++at) {
    for (const char flip : {'\x01', '\x08', '\x80'}) {
      std::string images = kImages;
      images[at] = static_cast<char>(images[at] ^ flip);
      EXPECT_NE(refusal(images, kLabels), "") << at;
    }
  }
}

}  // namespace
}  // namespace lockstep::tools
