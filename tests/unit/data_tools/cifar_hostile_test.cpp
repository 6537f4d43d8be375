#include <gtest/gtest.h>

#include "lib/cifar_batch.hpp"
#include "lockstep/base/check.hpp"
#include "support/pickles.hpp"

namespace lockstep::tools {
namespace {

using namespace pickles;

/// A batch of one picture in every way that Python writes it: protocol 2 by Python 2 and 3,
/// protocol 4 and 5 with memo and frame.
std::vector<std::string> small_batches() {
  const std::string pixels(kCifarValues, 'p');
  std::vector<std::string> all;
  all.push_back(proto(2) + "}q\x01(" + string2("labels") +
                "q\x02]q\x03K\x07"
                "a" +
                string2("data") + array(1, kCifarValues, pixels, string2) + string2("filenames") +
                "](" + string2("a.png") + "eu.");
  all.push_back(proto(2) + "}q\x01(" + encoded("labels") +
                "]K\x07"
                "a" +
                encoded("data") +
                array(1, kCifarValues, pixels, encoded, "numpy._core.multiarray") + "u.");
  all.push_back(proto(4) + "}\x94(" + bytes3("labels") +
                "\x94]\x94K\x07"
                "a" +
                bytes3("data") +
                array(1, kCifarValues, pixels, bytes3, "numpy._core.multiarray", true) + "u.");
  all.push_back(proto(5) + "}\x94(" + bytes3("labels") +
                "]K\x07"
                "a" +
                bytes3("data") + short_unicode("numpy._core.numeric") +
                short_unicode("_frombuffer") + "\x93(\x96" + little(pixels.size(), 8) + pixels +
                dtype("u1") + int1(1) + int2(kCifarValues) + "\x86" + short_unicode("C") + "tRu.");
  return all;
}

/// Reads a batch and all of its pictures; whether it was taken.
bool taken(const std::string& text) {
  try {
    const CifarBatch batch = read_pickled_batch("it", to_bytes(text), "labels");
    unsigned sum = 0;
    for (std::size_t i = 0; i < batch.labels.size(); ++i) {
      for (const std::uint8_t value : batch.picture(i).rgb) sum += value;
    }
    return sum > 0;
  } catch (const Error&) {
    return false;
  }
}

/// Positions worth changing: all of them but the midst of the pixels.
std::vector<std::size_t> positions(const std::string& text) {
  const std::size_t pixels = text.find("pppp");
  std::vector<std::size_t> all;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (at < pixels + 4 || at > pixels + kCifarValues - 4) all.push_back(at);
  }
  return all;
}

TEST(HostileCifar, TheSamplesAreTaken) {
  for (const std::string& batch : small_batches()) EXPECT_TRUE(taken(batch));
}

TEST(HostileCifar, NoneIsTakenThatIsCutAnywhere) {
  for (const std::string& batch : small_batches()) {
    for (const std::size_t size : positions(batch)) {
      EXPECT_FALSE(taken(batch.substr(0, size))) << size << " of " << batch.size();
    }
  }
}

// Whether it is refused or read does not matter: nothing may crash, hang or grow (a sanitizer sees
// what does not crash by itself).
TEST(HostileCifar, AnyByteMayBeAnyOther) {
  std::size_t refused = 0;
  for (const std::string& batch : small_batches()) {
    std::string text = batch;
    for (const std::size_t at : positions(batch)) {
      for (int value = 0; value < 256; value += 5) {
        text[at] = static_cast<char>(value);
        refused += taken(text) ? 0 : 1;
      }
      text[at] = batch[at];
    }
  }
  EXPECT_GT(refused, 1000U);
}

TEST(HostileCifar, AnyByteMayBeMissingOrThereTwice) {
  for (const std::string& batch : small_batches()) {
    for (const std::size_t at : positions(batch)) {
      (void)taken(batch.substr(0, at) + batch.substr(at + 1));
      (void)taken(batch.substr(0, at) + batch.substr(at, 1) + batch.substr(at));
    }
  }
}

TEST(HostileCifar, ArraysThatAreNotWhatTheySeemAreRefused) {
  const std::string batch = small_batches().front();
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = batch;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  const std::vector<std::pair<std::string, std::string>> changes{
      {int2(kCifarValues), int2(kCifarValues - 1)},
      {int2(1), int2(2)},
      {int2(1), int2(0)},
      {int2(1), "J\xff\xff\xff\xff"},
      {int2(1) + int2(kCifarValues), "\x8a\x08" + little(1ULL << 62U, 8) + "K\x04"},
      {unicode("u1"), unicode("i4")},
      {unicode("u1"), unicode("O")},
      {global("numpy", "ndarray"), global("numpy", "dtype")},
      {string2("labels"), string2("label_")},
      {"K\x07", "N"},
      {"K\x07"
       "a",
       ""},
      {string2("a.png"), string2("../a")},
      {string2("a.png"), string2(std::string(300, 'a'))},
      {string2("a.png"), "N"},
      {string2("a.png"), string2("a") + string2("b")},
  };
  for (const auto& [from, to] : changes) {
    EXPECT_FALSE(taken(with(from, to))) << testing::PrintToString(from);
  }
  EXPECT_FALSE(taken("N."));
  EXPECT_FALSE(taken("]."));
}

}  // namespace
}  // namespace lockstep::tools
