#include "lockstep/base/config.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/option_table.hpp"
#include "error_text.hpp"
#include "lockstep/base/cli.hpp"
#include "lockstep/base/fault.hpp"

namespace lockstep {
namespace {

CommandLine parsed(std::vector<std::string> args) {
  args.insert(args.begin(), "train");
  return parse_command_line(args, {"train", "evaluate"});
}

TEST(Config, EveryNumberOutOfRangeIsRefused) {
  int checked = 0;
  for (const Option& option : option_table()) {
    const NumberRange& range = option.range;
    if (range.low > -1e300) {
      const std::string below = range.low_open && range.low == 0 ? "0" : "-1";
      EXPECT_NE(error_text([&] {
                  (void)parsed({"--" + option.name() + "=" + below});
                }).find("out of range"),
                std::string::npos)
          << option.name();
      ++checked;
    }
    if (range.high < 1e300) {
      EXPECT_NE(error_text([&] {
                  (void)parsed({"--" + option.name() + "=2147483648"});
                }).find("out of range"),
                std::string::npos)
          << option.name();
    }
  }
  EXPECT_GT(checked, 30);
}

TEST(Config, TextReadsBackToTheSameConfig) {
  const CommandLine first = parsed({"--run.name", "a # b", "--run.root= x\"y ", "--optim.lr=.3",
                                    "--augment.mean=0.1,0.2,0.3", "--fault.point=step"});
  const std::string text = to_text(first.config);
  const CommandLine back = parse_command_line({"train"}, {"train"}, text, "saved");
  EXPECT_EQ(to_text(back.config), text);
  EXPECT_EQ(back.config.run.name, "a # b");
  EXPECT_EQ(back.config.run.root, " x\"y ");
  EXPECT_EQ(back.origin.at("optim.lr").rfind("saved:", 0), 0U);
}

TEST(Config, HashChangesWithAValue) {
  RunConfig config;
  const std::string before = config_hash(config);
  EXPECT_EQ(before.size(), 16U);
  config.optim.eps = 2e-8;
  EXPECT_NE(config_hash(config), before);
}

TEST(Config, UnknownNamesGetTheNearest) {
  const auto text = [](const std::string& arg) { return error_text([&] { (void)parsed({arg}); }); };
  EXPECT_NE(text("--train.batchsize=3").find("train.batch_size"), std::string::npos);
  EXPECT_NE(text("--train.lr=3").find("optim.lr"), std::string::npos);
  EXPECT_NE(text("junk").find("unexpected argument 'junk'"), std::string::npos);
}

TEST(Validate, ChecksRelations) {
  EXPECT_NO_THROW(validate(RunConfig{}));
  RunConfig config;
  config.train.accumulation = config.train.batch_size + 1;
  EXPECT_THROW(validate(config), UsageError);
  config = {};
  config.schedule.warmup_epochs = 11;
  EXPECT_THROW(validate(config), UsageError);
}

TEST(FaultPoint, ThrowsAndSpoilsWhereItIsToldTo) {
  RunConfig::Fault options;
  options.point = "step";
  options.rank = 1;
  options.step = 3;
  EXPECT_NO_THROW(FaultPoint(options, 0).at("step", 3));
  EXPECT_NO_THROW(FaultPoint(options, 1).at("step", 2));
  EXPECT_THROW(FaultPoint(options, 1).at("step", 3), Error);
  EXPECT_FALSE(FaultPoint(options, 1).spoils(3));
  options.action = "nan";
  EXPECT_TRUE(FaultPoint(options, 1).spoils(3));
  EXPECT_FALSE(FaultPoint(options, 0).spoils(3));
  EXPECT_FALSE(FaultPoint(options, 1).spoils(2));
}

}  // namespace
}  // namespace lockstep
