#include "lockstep/report/predictions.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "lockstep/base/check.hpp"
#include "temp_folder.hpp"

namespace lockstep::report {
namespace {

PredictionRow row(const std::string& path, const std::string& label) {
  return {path, label, {{"cat", 0.75}, {"dog, big", 0.125}}};
}

std::string written(PredictionFormat format, const std::vector<PredictionRow>& rows) {
  const TempFolder folder;
  PredictionWriter writer(format, folder / "out", 2);
  for (const PredictionRow& one : rows) writer.write(one);
  EXPECT_FALSE(std::filesystem::exists(folder / "out")) << "before it is whole";
  writer.close();
  return read_file(folder / "out");
}

TEST(PredictionWriter, Csv) {
  EXPECT_EQ(written(PredictionFormat::kCsv, {row("a.png", ""), row("b\"c.png", "dog, big")}),
            "path,label,class_1,probability_1,class_2,probability_2\n"
            "a.png,,cat,0.75,\"dog, big\",0.125\n"
            "\"b\"\"c.png\",\"dog, big\",cat,0.75,\"dog, big\",0.125\n");
}

TEST(PredictionWriter, Json) {
  const auto json =
      nlohmann::json::parse(written(PredictionFormat::kJson, {row("a", ""), row("b", "cat")}));
  ASSERT_EQ(json.size(), 2U);
  EXPECT_TRUE(json[0].at("label").is_null());
  EXPECT_EQ(json[1].at("label"), "cat");
  EXPECT_EQ(json[1].at("path"), "b");
  EXPECT_EQ(json[0].at("top")[1].at("class"), "dog, big");
  EXPECT_EQ(json[0].at("top")[1].at("probability"), 0.125);
  EXPECT_EQ(nlohmann::json::parse(written(PredictionFormat::kJson, {})).size(), 0U);
}

TEST(PredictionWriter, Table) {
  EXPECT_EQ(written(PredictionFormat::kTable, {row("a.png", ""), row("b.png", "cat")}),
            "a.png  cat 75.00 %  dog, big 12.50 %\n"
            "b.png  cat 75.00 %  dog, big 12.50 %  (is cat)\n");
}

TEST(PredictionWriter, WithoutCloseNothingIsLeft) {
  const TempFolder folder;
  { PredictionWriter writer(PredictionFormat::kCsv, folder / "out", 1); }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(PredictionWriter, AFullDiskIsAnError) {
  const TempFolder folder;
  std::filesystem::create_symlink("/dev/full", folder / "out");
  PredictionWriter writer(PredictionFormat::kCsv, folder / "out", 1);
  EXPECT_THROW(writer.close(), Error);
}

TEST(PredictionFormatTest, Words) {
  EXPECT_EQ(prediction_format("csv"), PredictionFormat::kCsv);
  EXPECT_THROW((void)prediction_format("CSV"), UsageError);
}

}  // namespace
}  // namespace lockstep::report
