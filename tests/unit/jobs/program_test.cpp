#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include "base/option_table.hpp"
#include "job.hpp"
#include "lockstep/base/check.hpp"

namespace lockstep::jobs {
namespace {

TEST(Program, HasTheWordsOfEveryKeyThatOtherLayersKnow) {
  for (const Option& option : option_table()) {
    const auto found = program().choices.find(option.name());
    EXPECT_EQ(option.chosen, found != program().choices.end()) << option.name();
    if (option.chosen && found != program().choices.end()) {
      const auto names = choice_names(found->second);
      const std::string chosen = option_text(RunConfig{}, option);
      EXPECT_EQ(std::count(names.begin(), names.end(), chosen), 1) << option.name();
      EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
    }
  }
}

TEST(Program, OptionsOfWordsAreKeys) {
  for (const auto& [key, choices] : program().choices) {
    EXPECT_NE(find_option(key), nullptr) << key;
    for (const Choice& choice : choices) {
      EXPECT_FALSE(choice.summary.empty()) << key << " " << choice.name;
      for (const std::string& option : choice.options) {
        EXPECT_NE(find_option(option), nullptr) << option << " of " << choice.name;
      }
    }
  }
}

TEST(Program, TrainTakesAllAndEveryJobIsAVerb) {
  EXPECT_EQ(parse_command_line({"train"}, program()).origin.size(), option_table().size());
  for (const Job& job : job_table()) {
    const Verb* verb = program().find_verb(job.verb.name);
    ASSERT_NE(verb, nullptr);
    EXPECT_FALSE(verb->summary.empty());
    EXPECT_NE(verb->example.find("lockstep " + verb->name), std::string::npos);
    // info reads a file and computes nothing.
    EXPECT_EQ(verb->may_set(OptionRole::kMachine), verb->name != "info") << verb->name;
  }
}

TEST(Program, TheHelpListsModelsOptimizersAndSchedules) {
  const std::string help = help_text(program());
  for (const auto& [key, choices] : program().choices) {
    for (const Choice& choice : choices) {
      EXPECT_NE(help.find("\n      " + choice.name + " "), std::string::npos) << choice.name;
    }
  }
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

}  // namespace
}  // namespace lockstep::jobs
