#include "lib/command_line.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "lib/tool.hpp"
#include "lockstep/base/check.hpp"

namespace lockstep::tools {
namespace {

CommandLine line() {
  CommandLine made("tool", "Does things.", {"IN", "OUT"});
  made.add("size", "N|HxW", "pixels");
  made.add("list", "FILE", "names");
  made.add_choice("fit", {"crop", "pad"}, "how");
  made.add_flag("overwrite", "replace");
  return made;
}

bool parse(CommandLine& to, std::vector<const char*> args) {
  args.insert(args.begin(), "tool");
  return to.parse(static_cast<int>(args.size()), args.data());
}

TEST(ToolCommandLine, ReadsPlacesOptionsAndFlags) {
  CommandLine all = line();
  ASSERT_TRUE(parse(all, {"from", "--size", "32", "to", "--fit=pad", "--overwrite"}));
  EXPECT_EQ(all.text("IN"), "from");
  EXPECT_EQ(all.text("OUT"), "to");
  EXPECT_EQ(all.text("size"), "32");
  EXPECT_EQ(all.text("fit"), "pad");
  EXPECT_TRUE(all.given("overwrite"));
  CommandLine few = line();
  ASSERT_TRUE(parse(few, {"from", "to"}));
  EXPECT_EQ(few.text("size"), "");
  EXPECT_EQ(few.text("fit"), "crop");
  EXPECT_FALSE(few.given("fit"));
  EXPECT_FALSE(few.given("overwrite"));
}

TEST(ToolCommandLine, HelpNamesEverything) {
  CommandLine all = line();
  ::testing::internal::CaptureStdout();
  EXPECT_FALSE(parse(all, {"--help"}));
  const std::string text = ::testing::internal::GetCapturedStdout();
  for (const char* word : {"Usage: tool IN OUT", "Does things.", "--size N|HxW", "pixels",
                           "--fit crop|pad", "(default crop)", "--overwrite", "Exit codes"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word << " is missing in\n" << text;
  }
}

TEST(ToolCommandLine, HelpFitsATerminal) {
  CommandLine all("tool", "Does things.", {"IN"});
  std::string words;
  for (int i = 0; i < 40; ++i) words += "word" + std::to_string(i) + " ";
  all.add("many", "N", words, "7 to 9");
  ::testing::internal::CaptureStdout();
  EXPECT_FALSE(parse(all, {"--help"}));
  const std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("\n  --many N                      word0 word1"), std::string::npos) << text;
  EXPECT_NE(text.find("(default 7 to 9)\n"), std::string::npos) << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(ToolCommandLine, APlaceForSeveralTakesWhatTheOthersLeave) {
  const auto parsed = [](const std::vector<const char*>& args) {
    CommandLine made("tool", "Does things.", {"FIRST", "IN...", "OUT"});
    EXPECT_TRUE(parse(made, args));
    return made;
  };
  using Texts = std::vector<std::string>;
  CommandLine three = parsed({"a", "b", "c"});
  EXPECT_EQ(three.text("FIRST"), "a");
  EXPECT_EQ(three.texts("IN"), (Texts{"b"}));
  EXPECT_EQ(three.text("OUT"), "c");
  CommandLine five = parsed({"a", "b", "c", "d", "e"});
  EXPECT_EQ(five.text("FIRST"), "a");
  EXPECT_EQ(five.texts("IN"), (Texts{"b", "c", "d"}));
  EXPECT_EQ(five.text("OUT"), "e");
  CommandLine made("tool", "Does things.", {"IN...", "OUT"});
  try {
    (void)parse(made, {"a"});
    FAIL() << "nothing was refused";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("OUT is not given (tool takes IN... OUT)"),
              std::string::npos)
        << error.what();
  }
}

TEST(ToolCommandLine, AListMayBeGivenAgain) {
  CommandLine made("tool", "Does things.", {"IN"});
  made.add_list("index", "N", "numbers");
  ASSERT_TRUE(parse(made, {"--index", "3", "a", "--index=1,2"}));
  EXPECT_EQ(made.texts("index"), (std::vector<std::string>{"3", "1,2"}));
  EXPECT_TRUE(made.given("index"));
  CommandLine without("tool", "Does things.", {"IN"});
  without.add_list("index", "N", "numbers");
  ASSERT_TRUE(parse(without, {"a"}));
  EXPECT_TRUE(without.texts("index").empty());
}

TEST(ToolCommandLine, VersionNeedsNothingElse) {
  CommandLine all = line();
  ::testing::internal::CaptureStdout();
  EXPECT_FALSE(parse(all, {"--version"}));
  EXPECT_TRUE(::testing::internal::GetCapturedStdout().starts_with("lockstep "));
}

TEST(ToolCommandLine, WrongUseIsNamed) {
  const auto refused = [](const std::vector<const char*>& args) {
    CommandLine all = line();
    try {
      (void)parse(all, args);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was refused");
  };
  EXPECT_NE(refused({"a", "b", "--siez", "3"}).find("did you mean --size?"), std::string::npos);
  EXPECT_NE(refused({"a", "b", "--si", "3"}).find("--si"), std::string::npos);
  EXPECT_NE(refused({"a", "b", "--fit", "crp"}).find("did you mean crop?"), std::string::npos);
  EXPECT_NE(refused({"a", "b", "--size"}).find("size"), std::string::npos);
  EXPECT_NE(refused({"a", "b", "--overwrite=yes"}).find("overwrite"), std::string::npos);
  EXPECT_NE(refused({"a", "b", "--size", "1", "--size", "2"}).find("twice"), std::string::npos);
  EXPECT_NE(refused({"a", "b", "c"}).find("'c'"), std::string::npos);
  EXPECT_NE(refused({"a"}).find("OUT"), std::string::npos);
  EXPECT_TRUE(refused({"~/a", "b"}).starts_with("IN: the ~ of '~/a' is not expanded here ("));
  EXPECT_TRUE(refused({"a", "~"}).starts_with("OUT: the ~ of '~' is not"));
  EXPECT_TRUE(refused({"a", "b", "--list=~/names"}).starts_with("--list: the ~ of '~/names' is"));
  EXPECT_NE(refused({}).find("IN"), std::string::npos);
  EXPECT_NE(refused({"a", "b", "-x"}).find("-x"), std::string::npos);
}

TEST(ToolCommandLine, SizesAndColours) {
  using Size = std::array<std::int64_t, 2>;
  EXPECT_EQ(parse_size("32"), (Size{32, 32}));
  EXPECT_EQ(parse_size("32x48"), (Size{32, 48}));
  for (const char* bad : {"", "x", "32x", "x32", "0", "-3", "70000", "32X48", "3.5", "32x48x3"}) {
    try {
      (void)parse_size(bad);
      ADD_FAILURE() << bad;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(bad), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(parse_colour("1,20,255"), (std::array<std::uint8_t, 3>{1, 20, 255}));
  for (const char* bad : {"", "1,2", "1,2,3,4", "256,0,0", "-1,0,0", "red", "1, 2,3"}) {
    EXPECT_THROW((void)parse_colour(bad), UsageError) << bad;
  }
}

}  // namespace
}  // namespace lockstep::tools
