// Weights of other training, fitted to a network by their names.
#include "lockstep/train/initial_weights.hpp"

#include "small_network.hpp"

namespace lockstep::train {
namespace {

using Names = std::vector<std::string>;

/// All tensors of a SmallNetwork, as a file would hold them.
NamedTensors all_of(const SmallNetwork& network) {
  NamedTensors tensors;
  for (const auto& [name, tensor] : state_of(network)) {
    tensors.emplace_back(name, tensor.detach().clone());
  }
  return tensors;
}

NamedTensors without(NamedTensors tensors, const std::string& name) {
  std::erase_if(tensors, [&](const auto& entry) { return entry.first == name; });
  return tensors;
}

TEST(LoadWeights, TakesWhatFits) {
  const SmallNetwork source(3);
  SmallNetwork target(9);
  const WeightsMatch match = load_weights(target, all_of(source), 10, true);
  EXPECT_EQ(match.matched.size(), 5U);
  EXPECT_TRUE(match.replaced.empty() && match.missing.empty() && match.unexpected.empty());
  EXPECT_EQ(state_digest(target), state_digest(source));
}

TEST(LoadWeights, TheHeadOfAnotherNumberOfClassesBeginsAnew) {
  NamedTensors tensors = without(without(all_of(SmallNetwork(3)), "weight"), "bias");
  tensors.emplace_back("weight", at::zeros({1000, 7}));
  tensors.emplace_back("bias", at::zeros({1000}));
  SmallNetwork target(9);
  const WeightsMatch match = load_weights(target, tensors, 5, true);
  EXPECT_EQ(match.replaced, (Names{"weight", "bias"}));
  EXPECT_TRUE(at::equal(target.at("weight"), SmallNetwork(9).at("weight")));
  EXPECT_TRUE(at::equal(target.at("conv"), SmallNetwork(3).at("conv")));
  EXPECT_NE(match_text(match).find("begin anew for the number of classes: weight, bias"),
            std::string::npos);
  // With another number of classes the same difference is none of a head.
  expect_says(failure([&] { (void)load_weights(target, tensors, 6, true); }), "weight has shape");
}

TEST(LoadWeights, StrictNamesBothSides) {
  NamedTensors tensors = without(all_of(SmallNetwork(3)), "bias");
  tensors.emplace_back("extra", at::zeros({1}));
  SmallNetwork target(9);
  const std::string before = state_digest(target);
  const std::string message = failure([&] { (void)load_weights(target, tensors, 10, true); });
  expect_says(message, "1 missing in the file: bias");
  expect_says(message, "1 unknown to the model: extra");
  EXPECT_EQ(state_digest(target), before);
  const WeightsMatch match = load_weights(target, tensors, 10, false);
  EXPECT_EQ(match.missing, Names{"bias"});
  EXPECT_EQ(match.unexpected, Names{"extra"});
  EXPECT_TRUE(at::equal(target.at("weight"), SmallNetwork(3).at("weight")));
}

TEST(LoadWeights, NothingInCommonIsAnErrorEvenWhenNotStrict) {
  SmallNetwork target(9);
  expect_says(failure([&] {
                (void)load_weights(target, {{"other", at::zeros({1})}}, 10, false);
              }),
              "no name of the file");
}

}  // namespace
}  // namespace lockstep::train
