// What a run that goes on from a checkpoint may change.
#include "lockstep/base/config_changes.hpp"

#include <gtest/gtest.h>

#include "base/option_table.hpp"
#include "error_text.hpp"
#include "small_program.hpp"

namespace lockstep {
namespace {

using Lines = std::vector<std::string>;

TEST(ConfigChanges, EqualConfigsHaveNone) {
  const ConfigChanges changes = compare_configs({}, {}, true);
  EXPECT_TRUE(changes.free.empty() && changes.warned.empty() && changes.refused.empty());
}

TEST(ConfigChanges, ByClassInTheOrderOfTheHelp) {
  RunConfig saved;
  RunConfig now;
  now.train.epochs = 20;
  now.run.name = "again";
  now.run.threads = 3;
  now.data.train = "/elsewhere/train";
  now.optim.lr = 0.01;
  now.optim.lr_scale = "fc=10";
  now.augment.flip = true;
  now.model.width = 8;
  now.data.holdout = 0.2;
  now.optim.name = "adamw";
  const ConfigChanges changes = compare_configs(saved, now, true);
  EXPECT_EQ(changes.free,
            (Lines{"run.name (empty) -> again", "run.threads 0 -> 3",
                   "data.train (empty) -> /elsewhere/train", "train.epochs 10 -> 20"}));
  EXPECT_EQ(changes.warned, (Lines{"augment.flip false -> true", "optim.lr 0.1 -> 0.01",
                                   "optim.lr_scale (empty) -> fc=10"}));
  EXPECT_EQ(changes.refused,
            (Lines{"data.holdout 0.1 -> 0.2", "model.width 0 -> 8", "optim.name sgd -> adamw"}));
}

TEST(ConfigChanges, TheOrderOfSamplesMayChangeBetweenEpochsAlone) {
  RunConfig now;
  now.run.seed = 9;
  now.train.batch_size = 64;
  now.data.drop_last = true;
  const Lines expected{"run.seed 1 -> 9", "data.drop_last false -> true",
                       "train.batch_size 128 -> 64"};
  EXPECT_EQ(compare_configs({}, now, true).refused, expected);
  EXPECT_EQ(compare_configs({}, now, false).warned, expected);
}

// All that decides about tensors and samples is refused; a new option must be thought about.
TEST(ConfigChanges, WhatIsRefused) {
  Lines refused;
  for (const Option& option : option_table()) {
    if (option.on_resume == ResumeRule::kRefuse) refused.push_back(option.name());
  }
  EXPECT_EQ(refused,
            (Lines{"run.dtype", "data.holdout", "data.holdout_seed", "augment.mean", "augment.std",
                   "model.name", "model.stem", "model.width", "model.init", "model.freeze",
                   "train.best_by", "optim.name", "fault.unused_parameter"}));
}

TEST(ConfigFromText, ReadsBackWhatWasWritten) {
  RunConfig config;
  config.run.name = "a b#c ${run.root}";
  config.augment.mean = {0.1, 0.2, 1.0 / 3};
  config.optim.lr = 0.1 + 0.2;
  config.optim.lr_scale = "conv1=0.1, fc=10";
  config.fault.step = 3;
  const RunConfig read = config_from_text(to_text(config), "config.cfg", small_program());
  EXPECT_EQ(to_text(read), to_text(config));
}

TEST(ConfigFromText, NamesTheTextInErrors) {
  const auto error = [](const std::string& text) {
    return error_text([&] { (void)config_from_text(text, "some/config.cfg", small_program()); });
  };
  EXPECT_NE(error("[run]\nseeed = 1\n").find("some/config.cfg:2"), std::string::npos);
  EXPECT_NE(error("[model]\nname = nothing\n").find("some/config.cfg:2"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
