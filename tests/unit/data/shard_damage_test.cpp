#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "data/hdf5_file.hpp"
#include "lockstep/base/check.hpp"
#include "lockstep/data/shard_reader.hpp"
#include "small_set.hpp"

namespace lockstep::data {
namespace {

namespace fs = std::filesystem;

/// A fault of a set of 12 samples in 2 shards, and what its error must say.
struct Damage {
  const char* name;
  std::function<void(const std::string& folder)> apply;
  std::vector<std::string> words;
};

std::string first(const std::string& folder) { return folder + "/00000.h5"; }

/// Opens the first shard for writing and changes it.
std::function<void(const std::string&)> change(const std::function<void(Hdf5File&)>& body) {
  return [body](const std::string& folder) {
    Hdf5File shard = Hdf5File::open_write(first(folder));
    body(shard);
    shard.close();
  };
}

std::function<void(const std::string&)> change_json(
    const std::function<void(nlohmann::json&)>& body) {
  return [body](const std::string& folder) {
    auto json = nlohmann::json::parse(std::ifstream(folder + "/set.json"));
    body(json);
    std::ofstream(folder + "/set.json") << json;
  };
}

/// A shard that holds all but one of the datasets, under the same attributes.
std::function<void(const std::string&)> without(const std::string& left_out) {
  return [left_out](const std::string& folder) {
    const std::string id = Hdf5File::open_read(first(folder)).text(kSetIdAttribute);
    fs::remove(first(folder));
    Hdf5File shard = Hdf5File::create(first(folder));
    const auto wanted = [&](const char* name) { return left_out != name; };
    if (wanted(kImages)) shard.create_uint8(kImages, {6, 4, 4, 3});
    if (wanted(kLabels)) shard.create_int32(kLabels, 6);
    if (wanted(kChecksums)) shard.create_uint32(kChecksums, 6);
    if (wanted(kSourcePaths)) shard.create_text(kSourcePaths, 6, 8);
    if (wanted(kClasses)) shard.create_text(kClasses, 3, 3);
    shard.set_text(kFormatAttribute, kFormatName);
    shard.set_int(kVersionAttribute, kFormatVersion);
    shard.set_text(kSetIdAttribute, id);
    shard.set_int(kShardIndexAttribute, 0);
    shard.set_int(kSampleCountAttribute, 6);
    shard.close();
  };
}

const std::vector<Damage>& damages() {
  static const std::vector<Damage> all{
      {"missing_shard",
       [](const auto& f) { fs::remove(f + "/00001.h5"); },
       {"00001.h5", "No such file"}},
      {"text_shard",
       [](const auto& f) { std::ofstream(first(f)) << "no shard at all"; },
       {"00000.h5", "not an HDF5 file"}},
      {"empty_shard",
       [](const auto& f) { fs::resize_file(first(f), 0); },
       {"00000.h5", "not an HDF5 file"}},
      {"truncated_shard",
       [](const auto& f) { fs::resize_file(first(f), fs::file_size(first(f)) - 1); },
       {"00000.h5", "truncated"}},
      {"swapped_shards",
       [](const auto& f) {
         fs::rename(first(f), f + "/t");
         fs::rename(f + "/00001.h5", first(f));
         fs::rename(f + "/t", f + "/00001.h5");
       },
       {"00000.h5", "shard 1", "shard 0"}},
      {"foreign_shard",
       change([](Hdf5File& s) { s.set_text(kSetIdAttribute, std::string(32, 'f')); }),
       {"00000.h5", "another set"}},
      {"other_format",
       change([](Hdf5File& s) { s.set_text(kFormatAttribute, "lockstep-shardz"); }),
       {"00000.h5", "another format"}},
      {"other_version",
       change([](Hdf5File& s) { s.set_int(kVersionAttribute, 2); }),
       {"00000.h5", "another version"}},
      {"wrong_count",
       change([](Hdf5File& s) { s.set_int(kSampleCountAttribute, 7); }),
       {"00000.h5", "7 samples", "6"}},
      {"label_beyond",
       change([](Hdf5File& s) {
         s.write_int32(kLabels, {0, 1, 3, 0, 1, 2});
       }),
       {"00000.h5", "sample 2", "label 3", "3 classes"}},
      {"label_negative",
       change([](Hdf5File& s) {
         s.write_int32(kLabels, {0, 1, 2, 0, 1, -1});
       }),
       {"00000.h5", "sample 5", "label -1"}},
      {"other_labels",
       change([](Hdf5File& s) {
         s.write_int32(kLabels, {0, 0, 0, 0, 0, 0});
       }),
       {"class counts"}},
      {"other_classes",
       change([](Hdf5File& s) {
         s.write_text(kClasses, {"ant", "bee", "dog"});
       }),
       {"00000.h5", "classes"}},
      {"no_images", without(kImages), {"00000.h5", "no dataset images"}},
      {"no_labels", without(kLabels), {"00000.h5", "no dataset labels"}},
      {"no_checksums", without(kChecksums), {"00000.h5", "no dataset checksums"}},
      {"no_classes", without(kClasses), {"00000.h5", "no dataset classes"}},
      {"no_paths", without(kSourcePaths), {"00000.h5", "no dataset source_paths"}},
      {"other_size",
       change_json([](nlohmann::json& j) {
         j["height"] = 2;
         j["width"] = 8;
       }),
       {"00000.h5", "number or size"}},
      {"json_of_another_set",
       change_json([](nlohmann::json& j) { j["set_id"] = std::string(32, '0'); }),
       {"00000.h5", "another set"}},
      {"one_shard_too_many",
       change_json([](nlohmann::json& j) {
         j["shards"].push_back(j["shards"][1]);
         j["shards"][2]["file"] = "00002.h5";
         j["samples"] = 18;
         j["class_counts"] = {6, 6, 6};
       }),
       {"00002.h5", "No such file"}},
      {"missing_json", [](const auto& f) { fs::remove(f + "/set.json"); }, {"set.json"}},
  };
  return all;
}

class ShardDamage : public ::testing::TestWithParam<std::size_t> {};

TEST_P(ShardDamage, IsNamedWhenTheSetIsOpened) {
  const SmallSet made(12, 4, 4, 2);
  const Damage& damage = damages()[GetParam()];
  ASSERT_NO_THROW(const ShardSet whole(made.folder()));
  damage.apply(made.folder());
  try {
    const ShardSet set(made.folder());
    FAIL() << "the damaged set was opened";
  } catch (const Error& error) {
    const std::string text = error.what();
    for (const std::string& word : damage.words) {
      EXPECT_NE(text.find(word), std::string::npos) << "'" << word << "' is missing in: " << text;
    }
    EXPECT_NE(text.find(") - "), std::string::npos) << "no reason and hint: " << text;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ShardDamage, ::testing::Range(std::size_t{0}, damages().size()),
                         [](const auto& test) { return damages()[test.param].name; });

}  // namespace
}  // namespace lockstep::data
