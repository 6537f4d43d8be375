#include "lockstep/base/name_prefixes.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

using Names = std::vector<std::string>;

TEST(NamePrefixes, ListsAreSplitAtCommas) {
  EXPECT_EQ(split_at_commas("conv1,\tlayer1.0 ,fc"), (Names{"conv1", "layer1.0", "fc"}));
  EXPECT_EQ(split_at_commas(" a b ,, c,"), (Names{"a b", "c"}));
  EXPECT_TRUE(split_at_commas(" , ").empty());
}

TEST(NamePrefixes, TheNearestBeginningIsNamed) {
  const Names names{"conv1.weight", "layer1.0.conv1.weight", "fc.bias"};
  EXPECT_EQ(prefix_hint("cnov1", names), "did you mean \"conv1\"?");
  EXPECT_EQ(prefix_hint("layer1.1", names), "did you mean \"layer1.0\"?");
  EXPECT_EQ(prefix_hint("fc.bais", names), "did you mean \"fc.bias\"?");
  EXPECT_EQ(prefix_hint("transformer", names), "names begin with conv1, layer1, fc");
  EXPECT_EQ(prefix_hint("fc", {}), "leave it out");
}

}  // namespace
}  // namespace lockstep
