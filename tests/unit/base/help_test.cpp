#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "base/option_table.hpp"
#include "lockstep/base/build_info.hpp"
#include "lockstep/base/cli.hpp"
#include "small_program.hpp"

namespace lockstep {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Help, ShowsEveryOptionThatIsNotHidden) {
  const std::string text = help_text(small_program());
  for (const Option& option : option_table()) {
    EXPECT_EQ(has(text, "--" + option.name() + " "), !option.hidden) << option.name();
    EXPECT_EQ(has(text, "\n[" + option.section + "]\n"), !option.hidden) << option.section;
  }
  for (const char* general :
       {"--config", "--checkpoint", "--print-config", "--help", "--version"}) {
    EXPECT_TRUE(has(text, general)) << general;
  }
  EXPECT_FALSE(has(text, "--list-options"));
}

TEST(Help, ShowsDefaultsAllowedValuesVerbsExamplesAndExitCodes) {
  const std::string text = help_text(small_program());
  EXPECT_TRUE(has(text, "\n  train                             train a model\n"));
  EXPECT_TRUE(has(text, "[sgd; sgd|adamw]"));
  EXPECT_TRUE(has(text, "[128; at least 1]"));
  EXPECT_TRUE(has(text, "[0.9; 0 to below 1]"));
  EXPECT_TRUE(has(text, "[false; true|false]"));
  EXPECT_TRUE(has(text, "[cifar_cnn; simple_cnn|cifar_cnn|resnet18]"));
  EXPECT_TRUE(has(text, "\n      cifar_cnn                     four convolutions\n"));
  EXPECT_TRUE(has(text, "\n  --checkpoint PATH                 model to score (evaluate)\n"));
  EXPECT_LT(text.find("  lockstep train --config a.cfg\n"), text.find("[run]"));
  EXPECT_TRUE(has(text, "\n  85  saved and stopped on request, go on later\n"));
  EXPECT_GT(text.find("Exit codes"), text.find("--comm.timeout"));
}

TEST(Help, OfAVerbShowsWhatItsCommandLineTakes) {
  const std::string text = help_text(small_program(), "evaluate");
  for (const Option& option : option_table()) {
    const bool taken =
        !option.hidden && small_program().find_verb("evaluate")->may_set(option.role);
    EXPECT_EQ(has(text, "--" + option.name() + " "), taken) << option.name();
  }
  EXPECT_TRUE(has(text, "--data.test ") && has(text, "--run.device "));
  EXPECT_FALSE(has(text, "--optim.lr ") || has(text, "--model.name "));
}

TEST(Help, OfAVerbHasItsOwnOptionsAndNoOthers) {
  const std::string train = help_text(small_program(), "train");
  EXPECT_TRUE(has(train, "lockstep train: train a model\n\n  lockstep train --config a.cfg\n"));
  EXPECT_FALSE(has(train, "--checkpoint ") || has(train, "lockstep evaluate"));
  EXPECT_TRUE(has(train, "[float32; float32|float64]"));
  const std::string evaluate = help_text(small_program(), "evaluate");
  EXPECT_TRUE(has(evaluate, "\n  --checkpoint PATH                 model to score\n"));
  EXPECT_FALSE(has(evaluate, "lockstep train"));
}

TEST(Help, OfAVerbDoesNotShowDefaultsOfTrainingForWhatTheCheckpointSays) {
  const std::string text = help_text(small_program(), "evaluate");
  EXPECT_TRUE(has(text, "[the checkpoint's; float32|float64]")) << text;
  EXPECT_TRUE(has(text, "[the checkpoint's; channels_last|contiguous]"));
  EXPECT_TRUE(has(text, "[the checkpoint's; 0 to 1]"));
  EXPECT_FALSE(has(text, "[float32;") || has(text, "[channels_last;"));
  EXPECT_TRUE(has(text, "[auto; auto|cpu|cuda]")) << "run.device is no matter of a checkpoint";
  EXPECT_FALSE(has(help_text(small_program(), "train"), "the checkpoint's"));
}

TEST(Help, FitsATerminal) {
  for (const char* verb : {"", "train", "evaluate"}) {
    std::istringstream lines(help_text(small_program(), verb));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 100U) << line;
      EXPECT_FALSE(line.ends_with(' ')) << line;
    }
  }
}

TEST(Help, ManyWordsTakeSeveralLines) {
  Program program = small_program();
  for (int i = 10; i < 30; ++i) {
    program.choices["model.name"].push_back({"network" + std::to_string(i), ""});
  }
  const std::string text = help_text(program);
  EXPECT_TRUE(has(text, "[cifar_cnn; simple_cnn | cifar_cnn |\n"));
  EXPECT_TRUE(has(text, " resnet18 | network10 | network11 |"));
  EXPECT_TRUE(has(text, " network29]\n"));
  EXPECT_TRUE(has(text, "[sgd; sgd|adamw]"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(BuildInfo, SaysVersionLibTorchAndDevice) {
  EXPECT_TRUE(build_summary().starts_with("lockstep " + version() + ", "));
  EXPECT_TRUE(has(build_summary(), "LibTorch"));
  EXPECT_EQ(has(build_summary(), "CUDA"), built_with_cuda());
  EXPECT_EQ(has(build_summary(), "for the CPU"), !built_with_cuda());
}

}  // namespace
}  // namespace lockstep
