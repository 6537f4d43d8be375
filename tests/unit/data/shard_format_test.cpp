#include "lockstep/data/shard_format.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "lockstep/base/check.hpp"

namespace lockstep::data {
namespace {

using Json = nlohmann::json;

SetInfo example() {
  SetInfo info;
  info.set_id = std::string(32, 'a');
  info.samples = 5;
  info.height = 7;
  info.width = 9;
  info.packed = {"pad", {7, 0, 255}};
  info.classes = {"ant", "\xC3\xA9t\xC3\xA9"};
  info.class_counts = {2, 3};
  info.mean = {0.1, 1.0 / 3, 0.7};
  info.std = {0.2, 0.25, 0.3};
  info.shards = {{"00000.h5", 3, std::string(32, '0')}, {"00001.h5", 2, std::string(32, '1')}};
  return info;
}

TEST(ShardFormat, NamesOfShards) {
  EXPECT_EQ(shard_file_name(0), "00000.h5");
  EXPECT_EQ(shard_file_name(12345), "12345.h5");
  EXPECT_EQ(shard_file_name(123456), "123456.h5");
}

TEST(ShardFormat, WhatIsWrittenIsRead) {
  const SetInfo info = example();
  const SetInfo read = set_info_from_json(to_json(info), "x/set.json");
  EXPECT_EQ(read.set_id, info.set_id);
  EXPECT_EQ(read.samples, 5);
  EXPECT_EQ(read.height, 7);
  EXPECT_EQ(read.width, 9);
  EXPECT_EQ(read.packed, info.packed);
  EXPECT_EQ(read.classes, info.classes);
  EXPECT_EQ(read.class_counts, info.class_counts);
  EXPECT_EQ(read.mean, info.mean);  // to the last bit
  EXPECT_EQ(read.std, info.std);
  ASSERT_EQ(read.shards.size(), 2U);
  EXPECT_EQ(read.shards[1].file, "00001.h5");
  EXPECT_EQ(read.shards[1].samples, 2);
  EXPECT_EQ(read.shards[1].digest, std::string(32, '1'));
}

/// The message of the error that reading the changed text throws.
std::string message(const std::function<void(Json&)>& change) {
  Json json = Json::parse(to_json(example()));
  change(json);
  try {
    (void)set_info_from_json(json.dump(), "x/set.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ShardFormat, EveryMissingEntryIsAnErrorThatNamesTheFile) {
  const Json whole = Json::parse(to_json(example()));
  for (const auto& [key, value] : whole.items()) {
    const std::string name = key;
    const std::string text = message([&](Json& json) { json.erase(name); });
    EXPECT_NE(text.find("x/set.json"), std::string::npos) << name << ": " << text;
    EXPECT_NE(text.find(name), std::string::npos) << name << ": " << text;
  }
}

TEST(ShardFormat, WrongTypesAndContradictions) {
  const auto expect = [](const std::string& words, const std::function<void(Json&)>& change) {
    const std::string text = message(change);
    EXPECT_NE(text.find(words), std::string::npos) << "wanted '" << words << "' in: " << text;
  };
  expect("whole number", [](Json& j) { j["samples"] = "five"; });
  expect("32.7, not a whole number", [](Json& j) { j["height"] = 32.7; });
  expect("whole number", [](Json& j) { j["shards"][0]["samples"] = 2.5; });
  expect("three channels", [](Json& j) { j["mean"].push_back(0.5); });
  expect("three channels", [](Json& j) { j["std"] = 0.5; });
  expect("no set of shards", [](Json& j) { j["format"] = "other"; });
  expect("version 2", [](Json& j) { j["version"] = 2; });
  expect("set_id", [](Json& j) { j["set_id"] = "abc"; });
  expect("set_id", [](Json& j) { j["set_id"] = std::string(32, 'G'); });
  expect("no pixels", [](Json& j) { j["height"] = 0; });
  expect("its fit is none of", [](Json& j) { j["fit"] = "squeeze"; });
  expect("no colour", [](Json& j) { j["background"] = {0, 0}; });
  expect("no colour", [](Json& j) { j["background"] = {0, 0, 256}; });
  expect("no colour", [](Json& j) { j["background"] = {0, 0.5, 0}; });
  expect("no colour", [](Json& j) { j["background"] = "black"; });
  expect("contradict", [](Json& j) { j["samples"] = 6; });
  expect("contradict", [](Json& j) { j["class_counts"] = {2, 2}; });
  expect("contradict", [](Json& j) { j["class_counts"] = {-1, 6}; });
  expect("contradict", [](Json& j) { j["class_counts"] = {5}; });
  expect("contradict", [](Json& j) { j["shards"].erase(1); });
  expect("two have the same", [](Json& j) { j["classes"] = {"ant", "ant"}; });
  expect("no name", [](Json& j) { j["classes"] = {"ant", ""}; });
  expect("../evil.h5", [](Json& j) { j["shards"][0]["file"] = "../evil.h5"; });
  expect("00001.h5", [](Json& j) { j["shards"][0]["file"] = "00001.h5"; });
  expect("00000.h5", [](Json& j) { j["shards"][0]["samples"] = 0; });
  expect("00000.h5", [](Json& j) { j["shards"][0]["xxh3_128"] = "12"; });
  expect("out of range", [](Json& j) { j["mean"][1] = 1.5; });
  expect("out of range", [](Json& j) { j["std"][2] = -0.1; });
}

TEST(ShardFormat, DeepNestingAndZeroBytesAreRefused) {
  const std::string good = to_json(example());
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  for (const std::string key : {"samples", "version", "classes"}) {
    std::string text = good;
    const std::size_t at = text.find("\"" + key + "\": ") + key.size() + 4;
    text.replace(at, text.find_first_of(",\n", at) - at, deep);
    try {
      (void)set_info_from_json(text, "x/set.json");
      ADD_FAILURE() << key << " was read";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("nested too deeply"), std::string::npos);
    }
  }
  EXPECT_THROW((void)set_info_from_json(good + std::string("\0more", 5), "x/set.json"), Error);
}

TEST(ShardFormat, NoJsonAtAll) {
  try {
    (void)set_info_from_json("{\"format\": \"lockst", "x/set.json");
    FAIL() << "half a text was read";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("x/set.json"), std::string::npos);
  }
}

TEST(ShardFormat, AFolderOfSetsLeadsToOneOfThem) {
  const std::filesystem::path folder = testing::TempDir() + "lockstep-sets";
  std::filesystem::create_directories(folder / "val");
  std::ofstream(folder / "val" / kSetFile) << "{}";
  try {
    (void)read_set_info(folder.string());
    FAIL() << "a set was found";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean " + (folder / "val").string() + "?"),
              std::string::npos)
        << error.what();
  }
  std::filesystem::remove_all(folder);
}

TEST(ShardFormat, AFolderWithoutSetJsonIsWrongUse) {
  try {
    (void)read_set_info("no/such/folder");
    FAIL() << "a set was found";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_NE(std::string(error.what()).find("no/such/folder"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep::data
