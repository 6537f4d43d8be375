// The reducer over ranks against autograd on the joined batch.

#include "lockstep/comm/gradient_reducer.hpp"

#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <string>
#include <tuple>

#include "support/mpi_fixture.hpp"
#include "support/recording_collectives.hpp"
#include "support/reducer_network.hpp"

namespace lockstep::comm {
namespace {

using test::ReducerNetwork;

// (float64, channels_last, bytes of a bucket)
class ReducerMpiTest : public test::MpiTest,
                       public ::testing::WithParamInterface<std::tuple<bool, bool, std::size_t>> {
 protected:
  [[nodiscard]] static at::ScalarType type() {
    return std::get<0>(GetParam()) ? at::kDouble : at::kFloat;
  }
  [[nodiscard]] static ReducerNetwork network() {
    return ReducerNetwork(type(), std::get<1>(GetParam()));
  }
  [[nodiscard]] static BucketOptions buckets() {
    return {.bucket_bytes = std::get<2>(GetParam()), .first_bucket_bytes = std::get<2>(GetParam())};
  }

  /// Backward of this rank's share of samples [first, last) of a batch of `batch`.
  static void backward(const ReducerNetwork& network, std::int64_t first, std::int64_t last,
                       std::int64_t batch) {
    const std::int64_t count = last - first;
    const std::int64_t begin = first + world().rank * count / world().size;
    const std::int64_t end = first + (world().rank + 1) * count / world().size;
    network.loss(begin, end, static_cast<double>(batch)).backward();
  }

  /// Compares with autograd over the whole batch on this rank.
  static void expect_joined(const ReducerNetwork& reduced, std::int64_t batch) {
    const ReducerNetwork joined = network();
    joined.loss(0, batch, static_cast<double>(batch)).backward();
    const double tolerance = type() == at::kDouble ? 1e-14 : 1e-6;
    const auto expected = joined.parameters();
    const auto got = reduced.parameters();
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::string& name = got[i].first;
      const at::Tensor& gradient = got[i].second.grad();
      if (!got[i].second.requires_grad()) {
        EXPECT_FALSE(gradient.defined()) << name;
      } else if (!expected[i].second.grad().defined()) {
        EXPECT_EQ(gradient.count_nonzero().item<std::int64_t>(), 0) << name;
      } else {
        const at::Tensor& whole = expected[i].second.grad();
        EXPECT_GT(whole.abs().max().item<double>(), 1e-3) << name << ": nothing to compare";
        EXPECT_LT((gradient - whole).abs().max().item<double>(), tolerance) << name;
      }
    }
  }
};

TEST_P(ReducerMpiTest, SumsEqualTheGradientOfTheJoinedBatch) {
  const auto collectives = make_collectives();
  const ReducerNetwork mine = network();
  GradientReducer reducer(mine.parameters(), *collectives, buckets());
  // 1 to 3 samples leave ranks without any; 7 and 13 give uneven parts.
  for (const std::int64_t batch : {1, 2, 3, 7, 13}) {
    reducer.zero();
    reducer.arm();
    backward(mine, 0, batch, batch);
    reducer.finish();
    expect_joined(mine, batch);
  }
}

TEST_P(ReducerMpiTest, AccumulationEqualsTheBigBatch) {
  const auto inner = make_collectives();
  test::RecordingCollectives collectives(*inner);
  const ReducerNetwork mine = network();
  GradientReducer reducer(mine.parameters(), collectives, buckets());
  reducer.zero();
  backward(mine, 0, 4, 11);
  backward(mine, 4, 5, 11);
  EXPECT_TRUE(collectives.starts.empty());
  reducer.arm();
  backward(mine, 5, 11, 11);
  reducer.finish();
  EXPECT_EQ(collectives.starts.size(), reducer.bucket_count());
  expect_joined(mine, 11);
}

TEST_P(ReducerMpiTest, AllRanksHoldTheSameBits) {
  const auto collectives = make_collectives();
  const ReducerNetwork mine = network();
  GradientReducer reducer(mine.parameters(), *collectives, buckets());
  reducer.zero();
  reducer.arm();
  backward(mine, 0, 13, 13);
  reducer.finish();
  const double norm = reducer.norm();
  EXPECT_GT(norm, 0);
  require_same(*collectives, std::string(reinterpret_cast<const char*>(&norm), sizeof(norm)),
               "gradient norm");
  reducer.scale(0.25);
  std::string bits;
  for (const auto& [name, parameter] : mine.parameters()) {
    if (!parameter.requires_grad()) continue;
    const at::Tensor gradient = parameter.grad().contiguous();
    bits.append(static_cast<const char*>(gradient.const_data_ptr()), gradient.nbytes());
  }
  require_same(*collectives, bits, "gradient");
  EXPECT_NEAR(reducer.norm(), 0.25 * norm, 1e-12 * norm);
}

// One bucket for each parameter, some for several, one for all.
INSTANTIATE_TEST_SUITE_P(Networks, ReducerMpiTest,
                         ::testing::Combine(::testing::Bool(), ::testing::Bool(),
                                            ::testing::Values(1, 500, 1000000)));

class ReducerOrderTest : public test::MpiTest {};

// On one rank a parameter is unused in the armed pass, on the others it is used: it counts as zero
// there, and the order of the buckets is the same everywhere.
TEST_F(ReducerOrderTest, RanksMayMissDifferentGradients) {
  const auto inner = make_collectives();
  test::RecordingCollectives collectives(*inner);
  const at::Tensor a = at::ones({3}, at::kDouble).set_requires_grad(true);
  const at::Tensor b = at::ones({5}, at::kDouble).set_requires_grad(true);
  GradientReducer reducer({{"a", a}, {"b", b}}, collectives,
                          {.bucket_bytes = 1, .first_bucket_bytes = 1});
  for (int skipping = 0; skipping < world().size; ++skipping) {
    collectives.starts.clear();
    reducer.zero();
    reducer.arm();
    const double factor = world().rank + 1;
    if (world().rank == skipping) {
      (a.sum() * factor).backward();
    } else {
      ((a.sum() + b.sum()) * factor).backward();
    }
    reducer.finish();
    const double p = world().size;
    const double all = p * (p + 1) / 2;
    EXPECT_TRUE(a.grad().equal(at::full({3}, all, at::kDouble))) << a.grad();
    EXPECT_TRUE(b.grad().equal(at::full({5}, all - (skipping + 1), at::kDouble))) << b.grad();
    ASSERT_EQ(collectives.starts.size(), 2U);
    EXPECT_EQ(collectives.starts[0].count, 5U);
    EXPECT_EQ(collectives.starts[1].count, 3U);
  }
}

}  // namespace
}  // namespace lockstep::comm
