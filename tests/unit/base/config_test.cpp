#include "lockstep/base/config.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/option_table.hpp"
#include "error_text.hpp"
#include "lockstep/base/cli.hpp"
#include "lockstep/base/fault.hpp"
#include "small_program.hpp"
#include "temp_folder.hpp"

namespace lockstep {
namespace {

CommandLine parsed(std::vector<std::string> args) {
  args.insert(args.begin(), "train");
  return parse(args);
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
  const TempFolder folder;
  const std::string saved = folder.write("saved.cfg", text);
  const CommandLine back = parsed({"--config", saved});
  EXPECT_EQ(to_text(back.config), text);
  EXPECT_EQ(back.config.run.name, "a # b");
  EXPECT_EQ(back.config.run.root, " x\"y ");
  EXPECT_EQ(back.origin.at("optim.lr").rfind(saved + ":", 0), 0U);
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
  for (const std::vector<double>& milestones :
       {std::vector<double>{2, 1}, std::vector<double>{1, 1.5, 1.5}}) {
    config = {};
    config.schedule.milestones = milestones;
    EXPECT_NE(error_text([&] { validate(config); }).find("schedule.milestones is not ascending"),
              std::string::npos);
  }
  config.schedule.milestones = {0.5, 1, 1.5};
  EXPECT_NO_THROW(validate(config));
  config.train.grad_norm_low = 100;
  EXPECT_THROW(validate(config), UsageError);
  config.train.grad_norm_high = 0;
  EXPECT_NO_THROW(validate(config)) << "one bound is off";
}

TEST(Config, NumbersThatOverflowInUseAreRefused) {
  for (const char* key :
       {"comm.timeout", "run.progress_interval", "fault.seconds", "comm.bucket_mb",
        "comm.first_bucket_mb", "optim.lr", "optim.weight_decay", "optim.eps", "schedule.min_lr",
        "schedule.warmup_epochs", "schedule.step_epochs", "schedule.milestones",
        "schedule.div_factor", "schedule.final_div_factor"}) {
    const NumberRange range = find_option(key)->range;
    EXPECT_LE(range.high, kMaxCount) << key;
    EXPECT_NE(error_text([&] {
                (void)parsed({"--" + std::string(key) + "=1e300"});
              }).find("out of range"),
              std::string::npos)
        << key;
  }
  EXPECT_EQ(find_option("comm.timeout")->range.text(), "above 0 to 1e+07");
  EXPECT_EQ(find_option("comm.bucket_mb")->range.text(), "above 0 to 1e+06");
  EXPECT_EQ(find_option("comm.first_bucket_mb")->range.text(), "above 0 to 1e+06");
  EXPECT_NE(error_text([] { (void)parsed({"--augment.std=1e-7,1,1"}); }), "(no error)");
}

TEST(Validate, NamesOfRuns) {
  const auto refusal = [](const std::string& name) {
    RunConfig config;
    config.run.name = name;
    return error_text([&] { validate(config); });
  };
  for (const std::string name : {"a/b", "/a", "..", ".", ".hidden", "-rf", "a b", " a", "a\nb",
                                 "a\tb", "a*", "a?", "a:b", "a$b", "a\\b", "a'b", "~a", "a\x7f"}) {
    EXPECT_NE(refusal(name).find("cannot name a run"), std::string::npos) << name;
  }
  EXPECT_EQ(
      refusal("a b"),
      "run.name: \"a b\" cannot name a run (it contains a space or a control character) - use "
      "letters, digits and ._-+=,@; run.root says where the folder lies");
  EXPECT_NE(refusal(std::string(201, 'a')).find("longer than 200"), std::string::npos);
  for (const std::string& name : {std::string(), std::string("a"), std::string("a.b-c_d+e=f,g@1"),
                                  std::string("läufe"), std::string(200, 'a')}) {
    EXPECT_EQ(refusal(name), "(no error)") << name;
  }
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
