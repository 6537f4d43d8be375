#include <gtest/gtest.h>

#include <string>

#include "error_text.hpp"
#include "lockstep/base/cli.hpp"
#include "small_program.hpp"
#include "temp_folder.hpp"

namespace lockstep {
namespace {

/// The config of a training run that differs from the defaults in every kind of key.
std::string saved_config() {
  RunConfig config;
  config.model.name = "simple_cnn";
  config.model.dropout = 0.25;
  config.run.dtype = "float64";
  config.augment.mean = {0.1, 0.2, 0.3};
  config.run.threads = 7;
  config.run.device = "cuda";
  config.comm.timeout = 5;
  config.data.test = "shards/test";
  config.train.eval_batch_size = 3;
  config.optim.lr = 0.5;
  config.record.dir = "record";
  config.fault.point = "evaluate";
  config.fault.unused_parameter = true;
  return to_text(config);
}

TEST(CheckpointLayer, BringsTheModelItsNumbersAndItsPreprocessingAlone) {
  const CommandLine result = parse({"evaluate"}, saved_config());
  RunConfig expected;
  expected.model.name = "simple_cnn";
  expected.model.dropout = 0.25;
  expected.run.dtype = "float64";
  expected.augment.mean = {0.1, 0.2, 0.3};
  expected.fault.unused_parameter = true;
  EXPECT_EQ(to_text(result.config), to_text(expected));
  EXPECT_EQ(result.origin.at("model.name"), "checkpoint");
  EXPECT_EQ(result.origin.at("run.dtype"), "checkpoint");
  EXPECT_EQ(result.origin.at("run.threads"), "default");
  EXPECT_EQ(result.origin.count("optim.lr"), 0U);
  EXPECT_TRUE(result.ignored.empty());
}

TEST(CheckpointLayer, LiesOverFilesAndUnderTheCommandLine) {
  const TempFolder folder;
  const std::string recipe = folder.write(
      "recipe.cfg",
      "[model]\nname = resnet18\n[run]\nthreads = 2\ndtype = float32\n[optim]\nlr = 9\n"
      "[data]\ntrain = here\ntest = ${data.train}/test\n[fault]\nunused_parameter = true\n");
  const CommandLine result = parse({"evaluate", "--config", recipe, "--augment.mean=0.5 0.5 0.5"},
                                   "[model]\nname = simple_cnn\n[run]\ndtype = float64\n"
                                   "[augment]\nmean = 0.1 0.2 0.3\n");
  EXPECT_EQ(result.config.model.name, "simple_cnn");
  EXPECT_EQ(result.config.run.dtype, "float64");
  EXPECT_EQ(result.config.augment.mean, (std::vector<double>{0.5, 0.5, 0.5}));
  EXPECT_EQ(result.origin.at("augment.mean"), "command line");
  EXPECT_EQ(result.config.run.threads, 2);
  EXPECT_EQ(result.origin.at("run.threads"), recipe + ":4");
  EXPECT_EQ(result.config.data.test, "here/test");
  EXPECT_EQ(result.config.data.train, "");
  EXPECT_EQ(result.config.optim.lr, RunConfig{}.optim.lr);
  EXPECT_FALSE(result.config.fault.unused_parameter) << "the checkpoint does not have it";
}

TEST(CheckpointLayer, FilesAreCheckedEvenWhereTheyAreNotUsed) {
  const TempFolder folder;
  const std::string recipe = folder.write("recipe.cfg", "[model]\nname = resnet81\n");
  EXPECT_NE(error_text([&] {
              (void)parse({"evaluate", "--config", recipe});
            }).find(recipe + ":2: model.name: 'resnet81' is not a known word"),
            std::string::npos);
}

TEST(CheckpointLayer, ABadValueIsNamedByItsLine) {
  EXPECT_NE(error_text([] {
              (void)parse({"evaluate"}, "[model]\nname = vit_huge\n");
            }).find("saved.cfg:2: model.name"),
            std::string::npos);
}

TEST(CheckpointLayer, TrainTakesNothingOfIt) {
  EXPECT_EQ(to_text(parse({"train"}, saved_config()).config), to_text(RunConfig{}));
}

TEST(CheckpointLayer, PrintConfigShowsWhatTheVerbUses) {
  const std::string text = print_config_text(parse({"evaluate"}, saved_config()));
  EXPECT_NE(text.find("\nname = simple_cnn                   # checkpoint\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("threads = 0                         # default\n"), std::string::npos);
  EXPECT_EQ(text.find("lr = "), std::string::npos);
  EXPECT_EQ(text.find("[optim]"), std::string::npos);
}

TEST(CheckpointLayer, ASavedConfigIncludesNothing) {
  const std::string error = error_text([] {
    (void)parse({"evaluate", "--checkpoint", "a"}, "include = /etc/passwd\n");
  });
  EXPECT_NE(error.find("saved.cfg:1: a saved configuration includes nothing"), std::string::npos)
      << error;
}

}  // namespace
}  // namespace lockstep
