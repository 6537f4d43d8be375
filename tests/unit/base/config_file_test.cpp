#include "base/config_file.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "error_text.hpp"
#include "temp_folder.hpp"

namespace lockstep {
namespace {

using testing::TestWithParam;

/// "section.key=text" of each assignment.
std::vector<std::string> pairs(const std::vector<Assignment>& assignments) {
  std::vector<std::string> result;
  result.reserve(assignments.size());
  for (const Assignment& assignment : assignments) {
    result.push_back(assignment.option->name() + "=" + assignment.text);
  }
  return result;
}

std::string value_of(const std::string& line) {
  const auto assignments = read_config_text("[data]\n" + line + "\n", "a.cfg");
  return assignments.empty() ? "(none)" : assignments.front().text;
}

TEST(ConfigText, ReadsSectionsKeysAndLines) {
  const auto read = read_config_text(
      "# a recipe\n\n[train]\nepochs = 3\n  batch_size=64  ; global\n[optim]\n\tlr = 0.1\n",
      "a.cfg");
  EXPECT_EQ(pairs(read),
            (std::vector<std::string>{"train.epochs=3", "train.batch_size=64", "optim.lr=0.1"}));
  EXPECT_EQ(read[0].origin, "a.cfg:4");
  EXPECT_EQ(read[1].origin, "a.cfg:5");
  EXPECT_EQ(read[2].origin, "a.cfg:7");
  EXPECT_EQ(read[2].what(), "a.cfg:7: optim.lr");
}

TEST(ConfigText, ToleratesByteOrderMarkCarriageReturnsAndAMissingLastNewline) {
  const auto read = read_config_text("\xEF\xBB\xBF[train]\r\nepochs = 3\r\n[optim]\r\nlr = 1", "a");
  EXPECT_EQ(pairs(read), (std::vector<std::string>{"train.epochs=3", "optim.lr=1"}));
}

TEST(ConfigText, CutsCommentsOnlyAfterWhiteSpace) {
  EXPECT_EQ(value_of("train = a#b"), "a#b");
  EXPECT_EQ(value_of("train = a;b"), "a;b");
  EXPECT_EQ(value_of("train = a #b"), "a");
  EXPECT_EQ(value_of("train = a\t; b"), "a");
  EXPECT_EQ(value_of("train = # nothing"), "");
  EXPECT_EQ(value_of("train =#1"), "#1");
  EXPECT_EQ(value_of("train ="), "");
  EXPECT_EQ(value_of("train = a = b"), "a = b");
  EXPECT_EQ(value_of("train = two words "), "two words");
  EXPECT_EQ(value_of("; train = a"), "(none)");
}

TEST(ConfigText, TakesQuotedValuesLiterally) {
  EXPECT_EQ(value_of(R"(train = " a # b " # comment)"), " a # b ");
  EXPECT_EQ(value_of(R"(train = "say \"hi\" \\ \n")"), "say \"hi\" \\ \n");
  EXPECT_EQ(value_of(R"(train = "")"), "");
  EXPECT_EQ(value_of(R"(train = it"s)"), "it\"s");
}

struct BadText {
  std::string text;
  std::string message;
};

class BadConfigText : public TestWithParam<BadText> {};

TEST_P(BadConfigText, IsRefusedWithFileAndLine) {
  EXPECT_EQ(error_text([] { (void)read_config_text(GetParam().text, "a.cfg"); }),
            GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadConfigText,
    testing::Values(
        BadText{"[train]\nbatch_sizes = 3\n",
                "a.cfg:2: unknown key 'batch_sizes' in [train] (no option has this name) - did you "
                "mean train.batch_size?"},
        BadText{"[data]\nbatch_size = 3\n",
                "a.cfg:2: unknown key 'batch_size' in [data] (no option has this name) - did you "
                "mean train.batch_size?"},
        BadText{
            "[model]\nthreads = 3\n",
            "a.cfg:2: unknown key 'threads' in [model] (no option has this name) - did you mean "
            "run.threads or data.threads?"},
        BadText{"[train]\nqwertyuiop = 3\n",
                "a.cfg:2: unknown key 'qwertyuiop' in [train] (no option has this name) - see "
                "--help for all keys"},
        BadText{"\n[trian]\n",
                "a.cfg:2: unknown section [trian] (no option belongs to it) - did you mean "
                "[train]?"},
        BadText{"[train\nepochs = 3\n",
                "a.cfg:1: cannot read '[train' (a section ends with ]) - write [name] alone on its "
                "line"},
        BadText{"[train]\nepochs 3\n",
                "a.cfg:2: cannot read 'epochs 3' (neither [section] nor key = value) - write key = "
                "value, or # for a comment"},
        BadText{"[train]\n= 3\n",
                "a.cfg:2: cannot read '= 3' (neither [section] nor key = value) - write key = "
                "value, or # for a comment"},
        BadText{
            "epochs = 3\n",
            "a.cfg:1: 'epochs' stands before the first [section] (only include lines may) - did "
            "you mean train.epochs?"},
        BadText{"optim.lr = 3\n",
                "a.cfg:1: 'optim.lr' stands before the first [section] (only include lines may) - "
                "write [optim] above it and lr = 3"},
        BadText{"[train]\noptim.lr = 3\n",
                "a.cfg:2: unknown key 'optim.lr' in [train] (a key of a file has no section in its "
                "name) - write [optim] above it and lr = 3"},
        BadText{"[optim]\noptim.lr = 3\n",
                "a.cfg:2: unknown key 'optim.lr' in [optim] (a key of a file has no section in its "
                "name) - write lr = 3"},
        BadText{"[optim]\nlearning_rate = 3\n",
                "a.cfg:2: unknown key 'learning_rate' in [optim] (no option has this name) - did "
                "you mean optim.lr?"},
        BadText{"include = ~/base.cfg\n",
                "a.cfg:1: include: the ~ of '~/base.cfg' is not expanded here (only a shell does "
                "that) - write the whole path, or ${HOME} in the shell"},
        BadText{"[train]\nepochs = 3\n[optim]\nlr = 1\n[train]\nepochs = 4\n",
                "a.cfg:6: train.epochs is given twice (first in line 2) - remove one of the two "
                "lines"},
        BadText{"[train]\ninclude = b.cfg\n",
                "a.cfg:2: include stands below [train] (includes come before all sections) - move "
                "the line to the top of the file"},
        BadText{"include =\n",
                "a.cfg:1: include names no file (the value is empty) - write include = other.cfg"},
        BadText{"[data]\ntrain = \"a\n",
                "a.cfg:2: the value has no closing quote (\"a) - end it with \""},
        BadText{"[data]\ntrain = \"a\" b\n",
                "a.cfg:2: cannot read 'b' (it follows the closing quote) - write \\\" for a quote "
                "inside the value"}));

TEST(ConfigFile, IncludesRelativeToTheIncludingFileAndLiesOverThem) {
  const TempFolder folder;
  (void)folder.write("base.cfg", "[train]\nepochs = 1\nbatch_size = 8\n");
  (void)folder.write("model/cnn.cfg", "include = ../base.cfg\n[model]\nname = simple_cnn\n");
  const std::string top =
      folder.write("top.cfg", "include = model/cnn.cfg # first\n[train]\nepochs = 2\n");
  const auto read = read_config_file(top);
  EXPECT_EQ(pairs(read), (std::vector<std::string>{"train.epochs=1", "train.batch_size=8",
                                                   "model.name=simple_cnn", "train.epochs=2"}));
  EXPECT_EQ(read[0].origin, folder.path("base.cfg") + ":2");
  EXPECT_EQ(read[3].origin, top + ":3");
}

TEST(ConfigFile, TakesAFileTwiceButNoCycle) {
  const TempFolder folder;
  (void)folder.write("base.cfg", "[train]\nepochs = 1\n");
  const std::string twice = folder.write("twice.cfg", "include = base.cfg\ninclude = base.cfg\n");
  EXPECT_EQ(read_config_file(twice).size(), 2U);
  (void)folder.write("b.cfg", "\ninclude = a.cfg\n");
  const std::string a = folder.write("a.cfg", "include = ./b.cfg\n");
  EXPECT_EQ(error_text([&] { (void)read_config_file(a); }),
            folder.path("b.cfg") + ":2: '" + a +
                "' includes itself (an include cycle) - remove one of the include lines");
}

TEST(ConfigFile, DeepAndManyIncludesAreRefused) {
  const TempFolder folder;
  for (int i = 0; i < 40; ++i) {
    (void)folder.write(std::to_string(i) + ".cfg", "include = " + std::to_string(i + 1) + ".cfg\n");
  }
  (void)folder.write("40.cfg", "[train]\nepochs = 3\n");
  EXPECT_EQ(read_config_file(folder.path("10.cfg")).size(), 1U);
  EXPECT_THROW((void)read_config_file(folder.path("0.cfg")), UsageError);
  // Each takes the next one twice: a million readings of the last.
  for (int i = 0; i < 20; ++i) {
    const std::string line = "include = d" + std::to_string(i + 1) + ".cfg\n";
    (void)folder.write("d" + std::to_string(i) + ".cfg", line + line);
  }
  (void)folder.write("d20.cfg", "");
  EXPECT_THROW((void)read_config_file(folder.path("d0.cfg")), UsageError);
}

TEST(ConfigFile, MissingFileNamesTheNearestAndTheIncludingLine) {
  const TempFolder folder;
  (void)folder.write("cifar_cnn.cfg", "");
  EXPECT_EQ(error_text([&] { (void)read_config_file(folder.path("cifar_cn.cfg")); }),
            "cannot read the config file '" + folder.path("cifar_cn.cfg") +
                "' (No such file or directory) - did you mean " + folder.path("cifar_cnn.cfg") +
                "?");
  const std::string top = folder.write("top.cfg", "\ninclude = nothing/like/it\n");
  EXPECT_EQ(error_text([&] { (void)read_config_file(top); }),
            top + ":2: cannot read the config file '" + folder.path("nothing/like/it") +
                "' (No such file or directory) - check the path; relative paths count from the "
                "including file");
}

TEST(ConfigFile, RefusesFoldersAndBinaryFiles) {
  const TempFolder folder;
  const std::string file = folder.write("a/b.cfg", std::string("[train]\0\n", 9));
  EXPECT_NE(error_text([&] { (void)read_config_file(folder.path("a")); }).find("it is a folder"),
            std::string::npos);
  EXPECT_NE(error_text([&] { (void)read_config_file(file); }).find("not a text file"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep
