#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "base/option_table.hpp"
#include "lockstep/base/build_info.hpp"
#include "lockstep/base/cli.hpp"

namespace lockstep {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Help, ShowsEveryOptionThatIsNotHidden) {
  const std::string text = help_text({"train     train a model", "evaluate  score a model"});
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
  const std::string text = help_text({"train     train a model"});
  EXPECT_TRUE(has(text, "\n  train                             train a model\n"));
  EXPECT_TRUE(has(text, "[sgd; sgd|adamw]"));
  EXPECT_TRUE(has(text, "[128; at least 1]"));
  EXPECT_TRUE(has(text, "[0.9; 0 to below 1]"));
  EXPECT_TRUE(has(text, "[false; true|false]"));
  EXPECT_LT(text.find("mpirun -np 4 lockstep train"), text.find("[run]"));
  EXPECT_TRUE(has(text, "\n  85  saved and stopped on request, go on later\n"));
  EXPECT_GT(text.find("Exit codes"), text.find("--comm.timeout"));
}

TEST(Help, FitsATerminal) {
  std::istringstream lines(help_text({"train     train a model"}));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100U) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
}

TEST(BuildInfo, SaysVersionLibTorchAndDevice) {
  EXPECT_TRUE(build_summary().starts_with("lockstep " + version() + ", "));
  EXPECT_TRUE(has(build_summary(), "LibTorch"));
  EXPECT_EQ(has(build_summary(), "CUDA"), built_with_cuda());
  EXPECT_EQ(has(build_summary(), "for the CPU"), !built_with_cuda());
}

}  // namespace
}  // namespace lockstep
