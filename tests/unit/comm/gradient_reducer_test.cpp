// The reducer on one rank. What it sums over ranks is tested in tests/mpi/comm.

#include "lockstep/comm/gradient_reducer.hpp"

#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <cmath>
#include <string>

#include "support/recording_collectives.hpp"
#include "support/reducer_network.hpp"

namespace lockstep::comm {
namespace {

using test::RecordingCollectives;
using test::ReducerNetwork;

class GradientReducerTest : public ::testing::Test {
 protected:
  template <typename Action>
  static std::string message_of(Action&& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  static void expect_mentions(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' lacks '" << part << "'";
  }

  /// A bucket for each parameter.
  static constexpr BucketOptions kSingle{.bucket_bytes = 1, .first_bucket_bytes = 1};

  std::unique_ptr<Collectives> serial_ = make_serial_collectives();
  RecordingCollectives collectives_{*serial_};
  ReducerNetwork network_{at::kDouble};
};

TEST_F(GradientReducerTest, BucketsHoldTheTrainedParametersInReverseOrder) {
  const GradientReducer single(network_.parameters(), collectives_, kSingle);
  ASSERT_EQ(single.bucket_count(), 6U);
  const std::vector<std::int64_t> elements{7, 35, 180, 11, 4, 108};
  for (std::size_t k = 0; k < 6; ++k) EXPECT_EQ(single.bucket_elements(k), elements[k]);
  EXPECT_THROW(static_cast<void>(single.bucket_elements(6)), Error);

  const GradientReducer whole(network_.parameters(), collectives_);
  ASSERT_EQ(whole.bucket_count(), 1U);
  EXPECT_EQ(whole.bucket_elements(0), 7 + 35 + 180 + 11 + 4 + 108);
}

TEST_F(GradientReducerTest, GradientsHaveTheStridesOfTheirParameters) {
  const ReducerNetwork network(at::kFloat, /*in_channels_last=*/true);
  const GradientReducer reducer(network.parameters(), collectives_);
  EXPECT_TRUE(network.conv1.grad().is_contiguous(at::MemoryFormat::ChannelsLast));
  for (const auto& [name, parameter] : network.parameters()) {
    if (!parameter.requires_grad()) continue;
    EXPECT_EQ(parameter.grad().strides(), parameter.strides()) << name;
    EXPECT_EQ(parameter.grad().scalar_type(), at::kFloat) << name;
  }
  EXPECT_FALSE(network.conv2_bias.grad().defined());
  EXPECT_TRUE(network.conv1.grad().is_alias_of(network.linear.grad()));
}

TEST_F(GradientReducerTest, BucketsStartInOrderAndStopBeforeAMissingGradient) {
  GradientReducer reducer(network_.parameters(), collectives_, kSingle);
  std::vector<bool> first_layer_was_zero;
  collectives_.on_start = [&](const RecordingCollectives::Start&) {
    first_layer_was_zero.push_back(network_.conv1.grad().count_nonzero().item<std::int64_t>() == 0);
  };
  reducer.zero();
  reducer.arm();
  network_.loss(0, 4, 4).backward();
  // The unused parameter has the fourth bucket: it and the two behind it wait for finish().
  ASSERT_EQ(collectives_.starts.size(), 3U);
  EXPECT_TRUE(first_layer_was_zero[0]) << "the first bucket came after the whole backward pass";
  reducer.finish();
  ASSERT_EQ(collectives_.starts.size(), 6U);
  EXPECT_EQ(collectives_.waits, 6);
  for (std::size_t k = 0; k < 6; ++k) {
    EXPECT_EQ(collectives_.starts[k].count, static_cast<std::size_t>(reducer.bucket_elements(k)));
    EXPECT_EQ(collectives_.starts[k].type, DataType::kFloat64);
    EXPECT_EQ(collectives_.starts[k].op, ReduceOp::kSum);
  }
  EXPECT_EQ(collectives_.starts[0].data, network_.linear_bias.grad().data_ptr());
  EXPECT_EQ(collectives_.starts[5].data, network_.conv1.grad().data_ptr());
  EXPECT_EQ(network_.unused.grad().count_nonzero().item<std::int64_t>(), 0);
}

TEST_F(GradientReducerTest, NothingIsSentBeforeArm) {
  GradientReducer reducer(network_.parameters(), collectives_, kSingle);
  for (int update = 1; update <= 3; ++update) {
    collectives_.starts.clear();
    reducer.zero();
    network_.loss(0, 3, 9).backward();
    network_.loss(3, 6, 9).backward();
    EXPECT_TRUE(collectives_.starts.empty()) << "an all-reduce inside the accumulation window";
    reducer.arm();
    EXPECT_TRUE(collectives_.starts.empty());
    network_.loss(6, 9, 9).backward();
    reducer.finish();
    EXPECT_EQ(collectives_.starts.size(), reducer.bucket_count());
  }
}

TEST_F(GradientReducerTest, HooksMoveTheTransportOn) {
  GradientReducer reducer(network_.parameters(), collectives_, kSingle);
  collectives_.polls_succeed = false;
  reducer.zero();
  reducer.arm();
  network_.loss(0, 4, 4).backward();
  // Five hooks fire, and each polls all that is under way; every bucket is seen by at least one.
  EXPECT_GE(collectives_.polls, 5);
  reducer.finish();
  EXPECT_EQ(collectives_.waits, 6);
}

TEST_F(GradientReducerTest, LostViewsAreFound) {
  const auto lose = [&] { network_.conv2.mutable_grad() = at::zeros_like(network_.conv2); };
  {
    GradientReducer reducer(network_.parameters(), collectives_);
    lose();
    expect_mentions(message_of([&] { reducer.zero(); }), "'conv2.weight' left its bucket");
  }
  {
    GradientReducer reducer(network_.parameters(), collectives_);
    reducer.zero();
    network_.conv2.mutable_grad().reset();
    reducer.arm();
    expect_mentions(message_of([&] { network_.loss(0, 2, 2).backward(); }), "'conv2.weight'");
  }
  {
    GradientReducer reducer(network_.parameters(), collectives_);
    reducer.zero();
    network_.loss(0, 2, 2).backward();
    reducer.arm();
    lose();
    expect_mentions(message_of([&] { reducer.finish(); }), "'conv2.weight'");
  }
  GradientReducer reducer(network_.parameters(), collectives_);
  const at::Tensor stays = network_.conv2.grad();
  network_.conv2.mutable_grad() = stays.permute({0, 1, 3, 2});
  EXPECT_NE(message_of([&] { reducer.zero(); }), "") << "transposed strides passed";
}

TEST_F(GradientReducerTest, CallsOutOfOrderAreRefused) {
  GradientReducer reducer(network_.parameters(), collectives_, kSingle);
  EXPECT_THROW(reducer.finish(), Error);
  reducer.arm();
  EXPECT_THROW(reducer.arm(), Error);
  EXPECT_THROW(reducer.zero(), Error);
  network_.loss(0, 2, 2).backward();
  expect_mentions(message_of([&] { network_.loss(0, 2, 2).backward(); }), "came twice after arm()");
}

TEST_F(GradientReducerTest, TransportErrorsNameTheBucket) {
  GradientReducer reducer(network_.parameters(), collectives_, kSingle);
  collectives_.on_start = [](const RecordingCollectives::Start& start) {
    if (start.count == 11) throw Error("the network is down", "a cable", "plug it in");
  };
  reducer.zero();
  reducer.arm();
  network_.loss(0, 2, 2).backward();
  const std::string text = message_of([&] { reducer.finish(); });
  expect_mentions(text, "bucket 3 of 6");
  expect_mentions(text, "'unused'");
  expect_mentions(text, "the network is down");
}

TEST_F(GradientReducerTest, ParametersAreCheckedByName) {
  const at::Tensor good = at::zeros({3}).set_requires_grad(true);
  const auto complaint = [&](const at::Tensor& bad) {
    return message_of([&] { GradientReducer({{"good", good}, {"bad", bad}}, collectives_); });
  };
  expect_mentions(complaint(good), "'bad' cannot be reduced (it was given twice)");
  expect_mentions(complaint(at::zeros({3}, at::kDouble).set_requires_grad(true)), "differs");
  expect_mentions(complaint(at::zeros({3}, at::kHalf).set_requires_grad(true)), "float32");
  expect_mentions(complaint(good * 2), "result of a computation");
  const at::Tensor gaps = at::zeros({4, 4}).narrow(1, 0, 2).detach().set_requires_grad(true);
  expect_mentions(complaint(gaps), "one block");
}

TEST_F(GradientReducerTest, HooksOutliveTheReducerAndHoldNothing) {
  const auto references = network_.conv1.use_count();
  {
    GradientReducer reducer(network_.parameters(), collectives_, kSingle);
    reducer.zero();
    reducer.arm();
  }
  EXPECT_EQ(network_.conv1.use_count(), references) << "a hook keeps the reducer's state alive";
  network_.loss(0, 2, 2).backward();
  EXPECT_TRUE(collectives_.starts.empty());
  // A later reducer on the same parameters takes over.
  GradientReducer next(network_.parameters(), collectives_, kSingle);
  next.zero();
  next.arm();
  network_.loss(0, 2, 2).backward();
  next.finish();
  EXPECT_EQ(collectives_.starts.size(), 6U);
}

TEST_F(GradientReducerTest, NormAndScaleCoverAllGradients) {
  GradientReducer reducer(network_.parameters(), collectives_, kSingle);
  reducer.zero();
  EXPECT_EQ(reducer.norm(), 0.0);
  reducer.arm();
  // The gradient of sum(c * w) is c: 3 everywhere in conv1 (108), 4 in linear (35).
  (network_.conv1.sum() * 3 + network_.linear.sum() * 4).backward();
  reducer.finish();
  EXPECT_DOUBLE_EQ(reducer.norm(), std::sqrt(9.0 * 108 + 16.0 * 35));
  reducer.scale(0.5);
  EXPECT_DOUBLE_EQ(reducer.norm(), 0.5 * std::sqrt(9.0 * 108 + 16.0 * 35));
  EXPECT_TRUE(network_.linear.grad().equal(at::full({7, 5}, 2.0, at::kDouble)));
  EXPECT_GE(reducer.exposed_seconds(), 0.0);
}

TEST_F(GradientReducerTest, ANetworkWithoutTrainedParametersHasNoBuckets) {
  GradientReducer reducer({{"frozen", at::zeros({3})}}, collectives_);
  reducer.zero();
  reducer.arm();
  reducer.finish();
  EXPECT_EQ(reducer.bucket_count(), 0U);
  EXPECT_EQ(reducer.norm(), 0.0);
}

}  // namespace
}  // namespace lockstep::comm
