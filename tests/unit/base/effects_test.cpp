#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "error_text.hpp"
#include "lockstep/base/cli.hpp"
#include "small_program.hpp"
#include "temp_folder.hpp"

namespace lockstep {
namespace {

using Args = std::vector<std::string>;

struct NoEffect {
  Args args;
  std::string message;
};

class OnTheCommandLine : public testing::TestWithParam<NoEffect> {};

TEST_P(OnTheCommandLine, AKeyWithoutEffectIsRefused) {
  Args args = GetParam().args;
  args.insert(args.begin(), "train");
  EXPECT_EQ(error_text([&] { (void)parse(args); }), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, OnTheCommandLine,
    testing::Values(
        NoEffect{{"--optim.name=adamw", "--optim.momentum=0.5"},
                 "--optim.momentum has no effect with optim.name = adamw (it belongs to sgd) - "
                 "leave it out, or choose optim.name = sgd"},
        // Also at its default: whoever writes it expects something of it.
        NoEffect{{"--optim.name=adamw", "--optim.momentum=0.9"},
                 "--optim.momentum has no effect with optim.name = adamw (it belongs to sgd) - "
                 "leave it out, or choose optim.name = sgd"},
        NoEffect{{"--optim.beta1=0.5"},
                 "--optim.beta1 has no effect with optim.name = sgd (it belongs to adamw) - leave "
                 "it out, or choose optim.name = adamw"},
        NoEffect{{"--schedule.name=constant", "--schedule.min_lr=0.01"},
                 "--schedule.min_lr has no effect with schedule.name = constant (it belongs to "
                 "cosine or linear) - leave it out, or choose schedule.name = cosine or linear"},
        NoEffect{
            {"--schedule.gamma=0.5"},
            "--schedule.gamma has no effect with schedule.name = cosine (it belongs to step) - "
            "leave it out, or choose schedule.name = step"},
        NoEffect{
            {"--model.stem=imagenet"},
            "--model.stem has no effect with model.name = cifar_cnn (it belongs to resnet18) - "
            "leave it out, or choose model.name = resnet18"},
        NoEffect{
            {"--augment.crop_mode=reflect"},
            "--augment.crop_mode has no effect with augment.crop_padding = 0 (nothing is added "
            "to the pictures) - leave it out, or set augment.crop_padding"},
        NoEffect{{"--schedule.warmup_start=0.1"},
                 "--schedule.warmup_start has no effect with schedule.warmup_epochs = 0 (there is "
                 "no warm-up) - leave it out, or set schedule.warmup_epochs"},
        NoEffect{{"--optim.weight_decay=0", "--optim.decay_norm_and_bias=true"},
                 "--optim.decay_norm_and_bias has no effect with optim.weight_decay = 0 (nothing "
                 "decays) - leave it out, or set optim.weight_decay"},
        NoEffect{{"--data.val=v", "--data.holdout=0.2"},
                 "--data.holdout has no effect with data.val = v (nothing is held out of "
                 "data.train) - leave it out, or leave out data.val"},
        NoEffect{{"--data.holdout=0", "--data.holdout_seed=3"},
                 "--data.holdout_seed has no effect with data.holdout = 0 (nothing is held out of "
                 "data.train) - leave it out, or set data.holdout"},
        NoEffect{
            {"--run.device=cpu", "--run.deterministic=true"},
            "--run.deterministic has no effect with run.device = cpu (a CPU always is) - leave "
            "it out, or choose another run.device"},
        NoEffect{{"--run.deterministic=true"}, "(no error)"},
        NoEffect{{"--data.val=v", "--data.holdout=0"}, "(no error)"},
        NoEffect{{"--schedule.name=linear", "--schedule.min_lr=0.01"}, "(no error)"},
        NoEffect{{"--optim.name=adamw", "--optim.eps=1e-6"}, "(no error)"}));

TEST(Effects, TheSameFileAndHigherFilesAreRefusedWithTheirLine) {
  const TempFolder folder;
  const std::string both = folder.write("both.cfg", "[optim]\nnesterov = true\nname = adamw\n");
  const std::string message =
      ":2: optim.nesterov has no effect with optim.name = adamw (it belongs to sgd) - leave it "
      "out, "
      "or choose optim.name = sgd";
  EXPECT_EQ(error_text([&] { (void)parse({"train", "--config", both}); }), both + message);
  const std::string name = folder.write("name.cfg", "[optim]\nname = adamw\n");
  const std::string above =
      folder.write("above.cfg", "include = name.cfg\n[optim]\nnesterov = true\n");
  EXPECT_NE(error_text([&] {
              (void)parse({"train", "--config", above});
            }).find(above + ":3"),
            std::string::npos);
  EXPECT_NE(error_text([&] {
              (void)parse({"train", "--config", name, "--config", both});
            }).find(both + ":2"),
            std::string::npos);
}

TEST(Effects, ALowerLayerIsIgnoredAndSaid) {
  const TempFolder folder;
  const std::string recipe = folder.write(
      "recipe.cfg",
      "[optim]\nname = sgd\nmomentum = 0.9\nnesterov = true\n[model]\ndropout = 0.25\n");
  const CommandLine result = parse({"train", "--config", recipe, "--optim.name", "adamw"});
  EXPECT_EQ(result.ignored, (Args{recipe + ":4: optim.nesterov = true has no effect with "
                                           "optim.name = adamw"}));
  EXPECT_FALSE(result.config.optim.nesterov);
  EXPECT_EQ(result.config.model.dropout, 0.25);
  EXPECT_EQ(result.origin.at("optim.nesterov"), "default (" + recipe + ":4 has no effect)");
  EXPECT_NO_THROW(validate(result.config));

  const std::string over =
      folder.write("over.cfg", "include = recipe.cfg\n[model]\nname = resnet18\n");
  EXPECT_EQ(parse({"train", "--config", over}).ignored,
            (Args{recipe + ":6: model.dropout = 0.25 has no effect with model.name = resnet18"}));
  EXPECT_TRUE(parse({"train", "--config", recipe}).ignored.empty());
}

TEST(Effects, TheConfigOfARunRunsAgain) {
  const TempFolder folder;
  const std::string recipe =
      folder.write("recipe.cfg", "[optim]\nnesterov = true\n[schedule]\nmin_lr = 0.01\n");
  const CommandLine first = parse({"train", "--config", recipe, "--optim.name", "adamw",
                                   "--schedule.name", "step", "--schedule.gamma", "0.5"});
  EXPECT_EQ(first.ignored.size(), 2U);
  const std::string saved = folder.write("config.cfg", to_text(first.config));
  const CommandLine again = parse({"train", "--config", saved});
  EXPECT_EQ(to_text(again.config), to_text(first.config));
  EXPECT_TRUE(again.ignored.empty());
}

}  // namespace
}  // namespace lockstep
