#include "lockstep/base/cli.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/option_table.hpp"
#include "error_text.hpp"
#include "small_program.hpp"
#include "temp_folder.hpp"

namespace lockstep {
namespace {

using Args = std::vector<std::string>;

TEST(CommandLine, StartsFromTheDefaults) {
  const CommandLine result = parse({"train"});
  EXPECT_EQ(result.verb, "train");
  EXPECT_EQ(to_text(result.config), to_text(RunConfig{}));
  EXPECT_EQ(result.origin.at("train.epochs"), "default");
  EXPECT_EQ(result.origin.size(), option_keys().size());
}

TEST(CommandLine, TakesValuesAfterSpaceOrEqualsSign) {
  const CommandLine result =
      parse({"train", "--train.epochs", "3", "--optim.lr=.5", "--augment.flip", "ON", "--run.seed",
             "18446744073709551615", "--augment.mean", "0.1, 0.2 0.3", "--data.train=a=b c"});
  EXPECT_EQ(result.config.train.epochs, 3);
  EXPECT_EQ(result.config.optim.lr, 0.5);
  EXPECT_TRUE(result.config.augment.flip);
  EXPECT_EQ(result.config.run.seed, 18446744073709551615ULL);
  EXPECT_EQ(result.config.augment.mean, (std::vector<double>{0.1, 0.2, 0.3}));
  EXPECT_EQ(result.config.data.train, "a=b c");
  EXPECT_EQ(result.origin.at("train.epochs"), "command line");
  EXPECT_EQ(result.origin.at("train.batch_size"), "default");
}

TEST(CommandLine, LaterLayersWin) {
  const TempFolder folder;
  (void)folder.write("zero.cfg", "[train]\nepochs = 7\nearly_stopping = 7\n");
  const std::string one = folder.write("one.cfg",
                                       "include = zero.cfg\n[train]\nepochs = 1\nbatch_size = "
                                       "1\naccumulation = 1\neval_batch_size = 1\n");
  const std::string two = folder.write("two.cfg", "[train]\nbatch_size = 2\naccumulation = 2\n");
  const CommandLine result = parse({"train", "--train.accumulation", "9", "--config", one,
                                    "--config=" + two, "--train.accumulation", "3"});
  EXPECT_EQ(result.config.train.early_stopping, 7);
  EXPECT_EQ(result.config.train.epochs, 1);
  EXPECT_EQ(result.config.train.batch_size, 2);
  EXPECT_EQ(result.config.train.accumulation, 3);
  EXPECT_EQ(result.config_files, (Args{one, two}));
  EXPECT_EQ(result.origin.at("train.early_stopping"), folder.path("zero.cfg") + ":3");
  EXPECT_EQ(result.origin.at("train.epochs"), one + ":3");
  EXPECT_EQ(result.origin.at("train.batch_size"), two + ":2");
  EXPECT_EQ(result.origin.at("train.accumulation"), "command line");
}

TEST(CommandLine, EmptyValueClearsAText) {
  const TempFolder folder;
  const std::string base =
      folder.write("a.cfg", "[run]\nname = a\n[data]\ntrain = b\n[augment]\nmean = 0.1 0.2 0.3\n");
  const CommandLine result =
      parse({"train", "--config", base, "--run.name=", "--data.train", "", "--augment.mean="});
  EXPECT_EQ(result.config.run.name, "");
  EXPECT_EQ(result.config.data.train, "");
  EXPECT_TRUE(result.config.augment.mean.empty());
}

TEST(CommandLine, ReadsGeneralOptions) {
  EXPECT_TRUE(parse({"--help"}).help);
  EXPECT_TRUE(parse({"-h"}).help);
  EXPECT_TRUE(parse({"train", "--help"}).help);
  EXPECT_TRUE(parse({"--version"}).version);
  EXPECT_TRUE(parse({"train", "--list-options"}).list_options);
  EXPECT_TRUE(parse({"train", "--print-config"}).print_config);
  EXPECT_FALSE(parse({"train"}).help || parse({"train"}).version || parse({"train"}).print_config);
  EXPECT_EQ(parse({"evaluate", "--checkpoint", "runs/a/checkpoints/best"}).verb_value("checkpoint"),
            "runs/a/checkpoints/best");
}

TEST(CommandLine, ResolvesReferencesAfterAllLayers) {
  const TempFolder folder;
  const std::string file =
      folder.write("a.cfg",
                   "[run]\nname = ${model.name}-${optim.lr}-$${x}\n[optim]\nlr = 1e-2\n[train]\n"
                   "eval_batch_size = ${train.batch_size}\n[data]\ntrain = \"${a}\"\n");
  const CommandLine result = parse({"train", "--model.name", "resnet18", "--config", file});
  EXPECT_EQ(result.config.run.name, "resnet18-1e-2-${x}");
  EXPECT_EQ(result.config.train.eval_batch_size, 128);  // the default of batch_size
  EXPECT_EQ(result.config.data.train, "${a}");
  EXPECT_EQ(result.origin.at("run.name"), file + ":2");
}

TEST(CommandLine, RefusesBadReferences) {
  EXPECT_EQ(error_text([] {
              (void)parse({"train", "--run.name", "${model.nam}"});
            }),
            "--run.name: '${model.nam}' refers to an unknown key (a reference reads "
            "${section.key}) - did you mean model.name?");
  const TempFolder folder;
  const std::string file =
      folder.write("a.cfg", "[data]\ntrain = ${data.val}\ntest = ${data.train}/x\n");
  EXPECT_EQ(error_text([&] {
              (void)parse({"train", "--config", file, "--data.val", "${data.test}"});
            }),
            file +
                ":3: data.test: the value refers to itself (data.test -> data.train -> data.val -> "
                "data.test) - write out one of these values");
  EXPECT_NE(error_text([] {
              (void)parse({"train", "--run.name", "${model.name"});
            }).find("has no closing brace"),
            std::string::npos);
  EXPECT_NE(error_text([] {
              (void)parse({"train", "--train.epochs", "${model.name}"});
            }).find("--train.epochs: 'cifar_cnn' is not a whole number"),
            std::string::npos);
  EXPECT_NE(error_text([] {
              (void)parse({"train", "--optim.name", "${model.name}"});
            }).find("--optim.name: 'cifar_cnn' is not a known word"),
            std::string::npos);
}

struct BadArgs {
  Args args;
  std::string message;
};

class BadCommandLine : public testing::TestWithParam<BadArgs> {};

TEST_P(BadCommandLine, IsRefused) {
  EXPECT_EQ(error_text([] { (void)parse(GetParam().args); }), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadCommandLine,
    testing::Values(
        BadArgs{{},
                "no verb is given (the first argument says what to do: train, evaluate) - write "
                "lockstep train ..."},
        BadArgs{{"--train.epochs", "3"},
                "no verb is given (the first argument says what to do: train, evaluate) - write "
                "lockstep train ..."},
        BadArgs{{"evalute"},
                "unknown verb 'evalute' (known: train, evaluate) - did you mean "
                "evaluate?"},
        BadArgs{{"train", "junk"},
                "unexpected argument 'junk' (after the verb come options alone) - write "
                "--section.key VALUE"},
        BadArgs{{"train", "--augment.flip", "on", "--", "junk"},
                "unexpected argument 'junk' (after the verb come options alone) - write "
                "--section.key VALUE"},
        BadArgs{{"train", "--train.batch_sizes", "3"},
                "unknown option --train.batch_sizes (no option has this name) - did you mean "
                "train.batch_size?"},
        BadArgs{{"train", "--train.batch_sizes="},
                "unknown option --train.batch_sizes (no option has this name) - did you mean "
                "train.batch_size?"},
        BadArgs{{"train", "--train.batch", "3"},
                "unknown option --train.batch (no option has this name) - did you mean "
                "train.batch_size?"},
        BadArgs{{"train", "--optim.batch_size=3"},
                "unknown option --optim.batch_size (no option has this name) - did you mean "
                "train.batch_size?"},
        BadArgs{{"train", "--batch_size", "3"},
                "unknown option --batch_size (no option has this name) - did you mean "
                "--train.batch_size?"},
        BadArgs{{"train", "--learning-rate", "3"},
                "unknown option --learning-rate (no option has this name) - did you mean "
                "--optim.lr?"},
        BadArgs{{"train", "--bs=3"},
                "unknown option --bs (no option has this name) - did you mean --train.batch_size?"},
        BadArgs{{"train", "--data.num_workers", "3"},
                "unknown option --data.num_workers (no option has this name) - did you mean "
                "data.threads?"},
        BadArgs{{"train", "--data.train=~/set"},
                "--data.train: the ~ of '~/set' is not expanded here (only a shell does that) - "
                "write the whole path, or ${HOME} in the shell"},
        BadArgs{{"train", "--run.resume", "~"},
                "--run.resume: the ~ of '~' is not expanded here (only a shell does that) - "
                "write the whole path, or ${HOME} in the shell"},
        BadArgs{{"train", "--config=~/a.cfg"},
                "--config: the ~ of '~/a.cfg' is not expanded here (only a shell does that) - "
                "write the whole path, or ${HOME} in the shell"},
        BadArgs{{"evaluate", "--checkpoint=~/best"},
                "--checkpoint: the ~ of '~/best' is not expanded here (only a shell does that) - "
                "write the whole path, or ${HOME} in the shell"},
        BadArgs{{"train", "--confg", "a"},
                "unknown option --confg (no option has this name) - did you mean --config?"},
        BadArgs{{"train", "-x"},
                "unknown option -x (no option has this name) - see --help for all keys"},
        BadArgs{
            {"train", "--train.epochs"},
            "--train.epochs has no value (a value must follow) - write --train.epochs VALUE, or "
            "--train.epochs= for an empty one"},
        BadArgs{{"train", "--data.train", "--data.test", "a"},
                "--data.train has no value (a value must follow) - write --data.train VALUE, or "
                "--data.train= for an empty one"},
        BadArgs{{"train", "--print-config=yes"},
                "cannot read --print-config (it takes no value) - leave out the value"},
        BadArgs{{"train", "--checkpoint", "a"},
                "--checkpoint does not belong to train (it belongs to evaluate) - leave it out"},
        BadArgs{
            {"train", "--chekpoint", "a"},
            "unknown option --chekpoint (no option has this name) - did you mean --checkpoint?"},
        BadArgs{{"evaluate", "--optim.lr", "9"},
                "--optim.lr has no effect on evaluate (it belongs to train) - leave it out"},
        BadArgs{
            {"evaluate", "--model.name=resnet18"},
            "--model.name has no effect on evaluate (the checkpoint says what it is) - leave it "
            "out"},
        BadArgs{{"train", "--model.name", "resnet81"},
                "--model.name: 'resnet81' is not a known word (allowed: simple_cnn, cifar_cnn, "
                "resnet18) - did you mean resnet18?"},
        BadArgs{
            {"train", "--optim.momentum", "-0.5"},
            "--optim.momentum: -0.5 is out of range (allowed: 0 to below 1) - choose a value in "
            "that range; optim.momentum is: momentum of sgd and rmsprop; 0: none"},
        BadArgs{{"train", "--train.epochs", "-3"},
                "--train.epochs: -3 is out of range (allowed: at least 1) - choose a value in that "
                "range; train.epochs is: passes over the training samples"},
        BadArgs{{"train", "--train.epochs", "3000000000"},
                "--train.epochs: 3000000000 is out of range (allowed: at most 2147483647) - choose "
                "a value in that range; train.epochs is: passes over the training samples"},
        BadArgs{
            {"train", "--optim.name", "sdg"},
            "--optim.name: 'sdg' is not a known word (allowed: sgd, adamw) - did you mean sgd?"},
        BadArgs{{"train", "--optim.lr="},
                "--optim.lr: '' is not a number (digits, one point and an exponent are allowed) - "
                "give a value"},
        BadArgs{{"train", "--augment.flip", "maybe"},
                "--augment.flip: 'maybe' is neither true nor false (allowed: true, false, yes, no, "
                "on, off, 1, 0) - write one of them"}));

TEST(CommandLine, NamesOfOtherProgramsLeadToOptions) {
  for (const char* name : {"learning_rate", "batch", "num_workers", "optimizer", "scheduler", "wd",
                           "warmup", "arch", "pretrained", "grad_clip", "precision"}) {
    const std::string option = name_elsewhere(name);
    EXPECT_NE(find_option(option), nullptr) << name << " -> " << option;
  }
  EXPECT_EQ(name_elsewhere("lr"), "");
}

TEST(CommandLine, ATildeInsideAPathIsANameAsAnyOther) {
  EXPECT_EQ(parse({"train", "--data.train", "a~/~", "--run.root", "~b"}).config.data.train, "a~/~");
}

TEST(CommandLine, NamesFileAndLineOfABadValueEvenWhenItIsOverridden) {
  const TempFolder folder;
  const std::string file = folder.write("a.cfg", "[train]\n\nepochs = 0\n");
  EXPECT_EQ(error_text([&] {
              (void)parse({"train", "--config", file, "--train.epochs", "4"});
            }),
            file +
                ":3: train.epochs: 0 is out of range (allowed: at least 1) - choose a value in "
                "that range; train.epochs is: passes over the training samples");
}

TEST(PrintConfig, ShowsValuesAndOriginsAndReadsBack) {
  const TempFolder folder;
  const std::string file = folder.write("a.cfg", "[train]\nepochs = 3\n");
  const CommandLine first = parse({"train", "--optim.lr", "0.25", "--fault.rank", "2",
                                   "--data.train", "a #b", "--config", file});
  const std::string text = print_config_text(first);
  EXPECT_NE(text.find("\nepochs = 3                          # " + file + ":2\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\nlr = 0.25                           # command line\n"), std::string::npos);
  EXPECT_NE(text.find("\nbatch_size = 128                    # default\n"), std::string::npos);
  EXPECT_NE(text.find("[fault]\nrank = 2 "), std::string::npos);
  EXPECT_EQ(text.find("[record]"), std::string::npos);
  const std::string again = folder.write("b.cfg", text);
  EXPECT_EQ(to_text(parse({"train", "--config", again}).config), to_text(first.config));
}

}  // namespace
}  // namespace lockstep
