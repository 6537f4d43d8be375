#include <gtest/gtest.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include "lockstep/base/check.hpp"
#include "lockstep/model/layers.hpp"
#include "lockstep/model/models.hpp"
#include "support/batch_norm_reference.hpp"
#include "support/mpi_fixture.hpp"

namespace lockstep::model {
namespace {

using test::batch_norm_reference;
using test::make_batch;
using test::relative_difference;

constexpr double kMomentum = 0.3;

class SyncBatchNormMpiTest : public test::MpiTest {
 protected:
  // Uneven parts of a batch: rank r of several has r*r + 1 rows, but rank 1 has none.
  [[nodiscard]] static std::vector<std::int64_t> parts() {
    std::vector<std::int64_t> counts;
    for (std::int64_t r = 0; r < world().size; ++r) counts.push_back(r == 1 ? 0 : r * r + 2);
    return counts;
  }
  struct Slice {
    std::int64_t begin = 0, length = 0, total = 0;
  };
  [[nodiscard]] static Slice mine() {
    Slice slice;
    const auto counts = parts();
    for (std::size_t r = 0; r < counts.size(); ++r) {
      if (static_cast<int>(r) < world().rank) slice.begin += counts[r];
      if (static_cast<int>(r) == world().rank) slice.length = counts[r];
      slice.total += counts[r];
    }
    return slice;
  }
  static at::Tensor sum_over_ranks(const at::Tensor& tensor, comm::Collectives& comm) {
    at::Tensor wide = tensor.detach().to(at::kDouble).contiguous().clone();
    comm.all_reduce(wide.mutable_data_ptr<double>(), static_cast<std::size_t>(wide.numel()),
                    comm::DataType::kFloat64, comm::ReduceOp::kSum);
    return wide;
  }
};

TEST_F(SyncBatchNormMpiTest, EqualsBatchNormOfTheJoinedBatch) {
  const auto comm = make_collectives();
  const Slice slice = mine();
  for (const auto type : {at::kDouble, at::kFloat}) {
    const double tolerance = type == at::kDouble ? 1e-12 : 1e-5;
    for (const auto& rest : std::vector<std::vector<std::int64_t>>{{5, 6, 7}, {16, 4, 4}, {9}}) {
      for (const bool channels_last : {false, true}) {
        std::vector<std::int64_t> shape{slice.total};
        shape.insert(shape.end(), rest.begin(), rest.end());
        const at::Tensor x = make_batch(shape, type, channels_last, 1);
        const at::Tensor dy = make_batch(shape, type, channels_last, 2);
        SyncBatchNorm layer(rest[0], kMomentum, *comm);
        {
          const at::NoGradGuard no_grad;
          layer.weight.copy_(at::linspace(0.5, 1.5, rest[0]));
          layer.bias.copy_(at::linspace(-1, 2, rest[0]));
        }
        layer.to(type, false);
        const auto expected = batch_norm_reference(x, dy, layer.weight, layer.bias, kMomentum);

        const at::Tensor input =
            x.narrow(0, slice.begin, slice.length).clone().requires_grad_(true);
        const at::Tensor y = layer.forward(input, {.phase = Phase::kTrain});
        y.backward(dy.narrow(0, slice.begin, slice.length));
        const auto where = ::testing::Message() << x.sizes() << x.dtype() << channels_last;
        const auto part = [&](const at::Tensor& t) {
          return t.narrow(0, slice.begin, slice.length);
        };
        EXPECT_LT(relative_difference(y, part(expected.y)), tolerance) << where;
        EXPECT_LT(relative_difference(input.grad(), part(expected.dx)), tolerance) << where;
        EXPECT_LT(relative_difference(sum_over_ranks(layer.weight.grad(), *comm), expected.dweight),
                  tolerance)
            << where;
        EXPECT_LT(relative_difference(sum_over_ranks(layer.bias.grad(), *comm), expected.dbias),
                  tolerance)
            << where;
        EXPECT_LT(relative_difference(layer.running_mean, expected.running_mean), tolerance)
            << where;
        EXPECT_LT(relative_difference(layer.running_var, expected.running_var), tolerance) << where;
      }
    }
  }
}

TEST_F(SyncBatchNormMpiTest, RunningStatisticsAreTheSameBitsOnAllRanks) {
  const auto comm = make_collectives();
  SyncBatchNorm layer(6, kMomentum, *comm);
  (void)layer.forward(make_batch({2 + world().rank, 6, 5, 5}, at::kFloat, true,
                                 10 + static_cast<std::uint64_t>(world().rank)),
                      {.phase = Phase::kTrain});
  const at::Tensor all = at::cat({layer.running_mean, layer.running_var}).contiguous();
  const std::string bytes(reinterpret_cast<const char*>(all.const_data_ptr<float>()), all.nbytes());
  for (const auto& other : comm->all_gather(bytes)) EXPECT_EQ(other, bytes);
  EXPECT_NE(layer.running_mean[0].item<float>(), 0);
}

TEST_F(SyncBatchNormMpiTest, OneValuePerChannelInTheWholeBatchIsAnErrorOnAllRanks) {
  const auto comm = make_collectives();
  SyncBatchNorm layer(3, kMomentum, *comm);
  const std::int64_t last = world().size - 1;
  const at::Tensor x = at::ones({world().rank == last ? 1 : 0, 3, 1, 1});
  EXPECT_THROW((void)layer.forward(x, {.phase = Phase::kTrain}), Error);
}

/// One network of each family, narrow, with dropout where it has such layers.
std::vector<ModelOptions> families() {
  std::vector<ModelOptions> all;
  for (const std::string name : {"simple_cnn", "cifar_cnn", "resnet18", "resnet50", "resnet20",
                                 "wide_resnet28_10", "vit_tiny"}) {
    ModelOptions options{.name = name, .height = 16, .width_pixels = 16, .width = 4};
    if (name == "wide_resnet28_10") options.width = 2;
    if (name == "vit_tiny") options.width = 6;
    if (!name.starts_with("resnet")) options.dropout = 0.3;
    all.push_back(options);
  }
  return all;
}

// A whole network in float64: gradients of the parts add up to those of the joined batch, dropout
// masks included.
TEST_F(SyncBatchNormMpiTest, NetworkGradientsDoNotDependOnTheRanks) {
  const auto comm = make_collectives();
  const auto serial = comm::make_serial_collectives();
  const Slice slice = mine();
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < slice.total; ++i) ids.push_back(1000 + 7 * i);
  for (const ModelOptions& options : families()) {
    const std::string& name = options.name;
    const auto joined = make_model(options, *serial);
    const auto part = make_model(options, *comm);
    joined->to(at::kDouble);
    part->to(at::kDouble);
    const at::Tensor x = make_batch({slice.total, 3, 16, 16}, at::kDouble, true, 3);
    joined->forward(x, {Phase::kTrain, 5, 2, ids.data()}).square().sum().backward();
    part->forward(x.narrow(0, slice.begin, slice.length),
                  {Phase::kTrain, 5, 2, ids.data() + slice.begin})
        .square()
        .sum()
        .backward();
    for (const auto& item : joined->named_parameters()) {
      const at::Tensor sum = sum_over_ranks(part->named_parameters()[item.key()].grad(), *comm);
      EXPECT_LT(relative_difference(sum, item.value().grad()), 1e-10) << name << " " << item.key();
      EXPECT_GT(sum.abs().max().item<double>(), 0) << name << " " << item.key();
    }
    for (const auto& item : joined->named_buffers()) {
      EXPECT_LT(relative_difference(part->named_buffers()[item.key()], item.value()), 1e-11)
          << name << " " << item.key();
    }
  }
}

}  // namespace
}  // namespace lockstep::model
