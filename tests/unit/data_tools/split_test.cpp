#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "lib/pack.hpp"

namespace lockstep::tools {
namespace {

std::vector<Sample> files(const std::vector<int>& per_class) {
  std::vector<Sample> all;
  for (std::size_t label = 0; label < per_class.size(); ++label) {
    for (int i = 0; i < per_class[label]; ++i) {
      all.push_back({static_cast<std::int32_t>(label),
                     std::string(1, static_cast<char>('a' + label)) + "/" + std::to_string(i)});
    }
  }
  return all;
}

std::set<std::string> names(const std::vector<Sample>& part) {
  std::set<std::string> all;
  for (const Sample& file : part) all.insert(file.path);
  return all;
}

TEST(Split, EveryFileIsInOnePartAndEveryClassIsCutAlike) {
  const auto all = files({100, 7, 33, 1});
  const auto parts = split_samples(all, {80, 10, 10}, 3);
  ASSERT_EQ(parts.size(), 3U);
  std::set<std::string> together;
  std::size_t count = 0;
  for (const auto& part : parts) {
    count += part.size();
    together.merge(names(part));
  }
  EXPECT_EQ(count, all.size());
  EXPECT_EQ(together, names(all));
  for (const auto& [label, size] : std::vector<std::pair<int, double>>{{0, 100}, {1, 7}, {2, 33}}) {
    for (std::size_t p = 0; p < 3; ++p) {
      const auto in_part =
          std::count_if(parts[p].begin(), parts[p].end(),
                        [label = label](const Sample& file) { return file.label == label; });
      EXPECT_NEAR(static_cast<double>(in_part), size * (p == 0 ? 0.8 : 0.1), 1.0);
    }
  }
  EXPECT_TRUE(names(parts[0]).contains("d/0")) << "a lone picture belongs to training";
}

TEST(Split, DependsOnSeedAndPathAlone) {
  const auto all = files({60, 60});
  auto reversed = all;
  std::reverse(reversed.begin(), reversed.end());
  const auto a = split_samples(all, {80, 20}, 1);
  const auto b = split_samples(reversed, {80, 20}, 1);
  const auto c = split_samples(all, {80, 20}, 2);
  ASSERT_EQ(a.size(), 2U);
  EXPECT_EQ(names(a[1]), names(b[1]));
  EXPECT_NE(names(a[1]), names(c[1]));
}

TEST(Split, WeightsAreShares) {
  const auto all = files({50});
  EXPECT_EQ(names(split_samples(all, {8, 2}, 5)[1]), names(split_samples(all, {0.8, 0.2}, 5)[1]));
  EXPECT_EQ(split_samples(all, {8, 2}, 5)[1].size(), 10U);
}

}  // namespace
}  // namespace lockstep::tools
