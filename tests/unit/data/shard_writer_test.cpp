#include "lockstep/data/shard_writer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "lockstep/base/check.hpp"
#include "lockstep/data/set_digest.hpp"
#include "lockstep/data/shard_reader.hpp"
#include "small_set.hpp"

namespace lockstep::data {
namespace {

namespace fs = std::filesystem;

class ShardWriter : public ::testing::Test {
 protected:
  ShardWriter() {
    std::string name = (fs::temp_directory_path() / "lockstep-writer-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    root_ = name;
  }
  ~ShardWriter() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  /// A set of `come` samples where `planned` were expected, in a new folder.
  SetInfo write(const std::string& name, std::int64_t planned, std::int64_t come,
                std::int64_t shards, const std::string& options_text = "x") {
    fs::create_directory(root_ / name);
    SetWriterOptions options{4, 5, {"ant", "bee", "cat"}, planned, shards, 8, options_text};
    SetWriter writer((root_ / name).string(), options);
    for (std::int64_t id = 0; id < come; ++id) {
      const auto rgb = SmallSet::picture(id, 4, 5);
      writer.append(rgb, digest_sample(rgb), SmallSet::label(id), std::to_string(id));
    }
    EXPECT_EQ(writer.samples(), come);
    return writer.finish();
  }
  std::string file(const std::string& set, std::int64_t shard) {
    std::ifstream in(root_ / set / shard_file_name(shard), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  fs::path root_;
};

TEST_F(ShardWriter, EqualCallsMakeEqualBytes) {
  const SetInfo a = write("a", 10, 10, 3);
  const SetInfo b = write("b", 10, 10, 3);
  EXPECT_EQ(to_json(a), to_json(b));
  for (std::int64_t shard = 0; shard < 3; ++shard) EXPECT_EQ(file("a", shard), file("b", shard));
  EXPECT_EQ(a.shards[0].digest, digest_file((root_ / "a" / "00000.h5").string()));
}

TEST_F(ShardWriter, ShardsAreCutEvenly) {
  const SetInfo info = write("a", 10, 10, 3);
  ASSERT_EQ(info.shards.size(), 3U);
  EXPECT_EQ(info.shards[0].samples, 3);
  EXPECT_EQ(info.shards[1].samples, 3);
  EXPECT_EQ(info.shards[2].samples, 4);
}

TEST_F(ShardWriter, FewerSamplesThanPlannedFillFewerShards) {
  for (std::int64_t come = 1; come <= 10; ++come) {
    const std::string name = "a" + std::to_string(come);
    const SetInfo info = write(name, 10, come, 3);
    EXPECT_EQ(info.samples, come);
    std::int64_t files = 0;
    for (const auto& entry : fs::directory_iterator(root_ / name)) {
      files += entry.path().extension() == ".h5" ? 1 : 0;
    }
    EXPECT_EQ(files, static_cast<std::int64_t>(info.shards.size()));
    const ShardSet set((root_ / name).string());
    std::vector<std::uint8_t> picture(60);
    for (std::int64_t id = 0; id < come; ++id) {
      set.read(id, picture.data());
      EXPECT_EQ(picture, SmallSet::picture(id, 4, 5));
    }
  }
}

TEST_F(ShardWriter, TheSetIdFollowsContentsAndOptions) {
  const std::string id = write("a", 6, 6, 2).set_id;
  EXPECT_EQ(write("b", 6, 6, 2).set_id, id);
  EXPECT_NE(write("c", 6, 6, 3).set_id, id);
  EXPECT_NE(write("d", 6, 5, 2).set_id, id);
  EXPECT_NE(write("e", 6, 6, 2, "y").set_id, id);
}

TEST_F(ShardWriter, MeanAndDeviationByTheirFormula) {
  const SetInfo info = write("a", 7, 7, 2);
  for (std::size_t c = 0; c < 3; ++c) {
    double sum = 0;
    double count = 0;
    for (std::int64_t id = 0; id < 7; ++id) {
      const auto rgb = SmallSet::picture(id, 4, 5);
      for (std::size_t i = c; i < rgb.size(); i += 3, ++count) sum += rgb[i] / 255.0;
    }
    const double mean = sum / count;
    double squares = 0;
    for (std::int64_t id = 0; id < 7; ++id) {
      const auto rgb = SmallSet::picture(id, 4, 5);
      for (std::size_t i = c; i < rgb.size(); i += 3) squares += std::pow(rgb[i] / 255.0 - mean, 2);
    }
    EXPECT_NEAR(info.mean[c], mean, 1e-12);
    EXPECT_NEAR(info.std[c], std::sqrt(squares / count), 1e-12);
  }
}

TEST_F(ShardWriter, TheChecksumIsCrc32) {
  const std::string text = "123456789";  // its CRC-32 is the check value of the standard
  const SampleDigest digest =
      digest_sample({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  EXPECT_EQ(digest.checksum, 0xCBF43926U);
  EXPECT_EQ(digest.sum[0], std::uint64_t{'1'} + '4' + '7');
  EXPECT_EQ(digest.sum_of_squares[2], std::uint64_t{'3' * '3'} + '6' * '6' + '9' * '9');
}

TEST_F(ShardWriter, RefusesWhatWasNotPlanned) {
  fs::create_directory(root_ / "a");
  SetWriter writer((root_ / "a").string(), {4, 5, {"ant"}, 1, 1, 8, "x"});
  const auto rgb = SmallSet::picture(0, 4, 5);
  const auto digest = digest_sample(rgb);
  EXPECT_THROW(writer.append({rgb.data(), 59}, digest, 0, "a"), Error);
  EXPECT_THROW(writer.append(rgb, digest, 1, "a"), Error);
  EXPECT_THROW(writer.append(rgb, digest, -1, "a"), Error);
  EXPECT_THROW((void)writer.finish(), Error) << "an empty set";
  writer.append(rgb, digest, 0, "a");
  EXPECT_THROW(writer.append(rgb, digest, 0, "b"), Error) << "one more than planned";
  EXPECT_EQ(writer.finish().samples, 1);
}

TEST_F(ShardWriter, WithoutFinishThereIsNoSet) {
  fs::create_directory(root_ / "a");
  {
    SetWriter writer((root_ / "a").string(), {4, 5, {"ant"}, 1, 1, 8, "x"});
    const auto rgb = SmallSet::picture(0, 4, 5);
    writer.append(rgb, digest_sample(rgb), 0, "a");
  }
  EXPECT_FALSE(fs::exists(root_ / "a" / kSetFile));
}

TEST_F(ShardWriter, AFolderThatIsNotThereIsNamed) {
  SetWriter writer((root_ / "nowhere").string(), {4, 5, {"ant"}, 1, 1, 8, "x"});
  const auto rgb = SmallSet::picture(0, 4, 5);
  try {
    writer.append(rgb, digest_sample(rgb), 0, "a");
    FAIL() << "a shard was made";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("nowhere/00000.h5"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep::data
