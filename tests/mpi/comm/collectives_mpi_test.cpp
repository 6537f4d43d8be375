// Inputs encode rank and index, so that every expected value is a formula of the world size.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

#include "support/mpi_fixture.hpp"

namespace lockstep::comm {
namespace {

const std::size_t kDefaultChunk = MpiOptions{}.max_count;

template <typename T>
constexpr DataType kTypeOf = std::is_same_v<T, float>          ? DataType::kFloat32
                             : std::is_same_v<T, double>       ? DataType::kFloat64
                             : std::is_same_v<T, std::int64_t> ? DataType::kInt64
                                                               : DataType::kByte;

/// (elements, elements per MPI call)
class SizesTest : public test::MpiTest,
                  public ::testing::WithParamInterface<std::tuple<std::size_t, std::size_t>> {
 protected:
  [[nodiscard]] static std::size_t count() { return std::get<0>(GetParam()); }

  [[nodiscard]] static std::unique_ptr<Collectives> chunked() {
    MpiOptions with = options();
    with.max_count = std::get<1>(GetParam());
    return make_collectives(with);
  }

  template <typename T>
  static void expect_sum() {
    const auto collectives = chunked();
    const auto p = static_cast<double>(world().size);
    std::vector<T> values(count());
    for (std::size_t i = 0; i < count(); ++i) {
      values[i] =
          static_cast<T>(static_cast<double>(world().rank + 1) * static_cast<double>(i % 1000 + 1));
    }
    collectives->all_reduce(values.data(), count(), kTypeOf<T>, ReduceOp::kSum);
    for (std::size_t i = 0; i < count(); ++i) {
      ASSERT_EQ(values[i], static_cast<T>(p * (p + 1) / 2 * static_cast<double>(i % 1000 + 1)))
          << "element " << i;
    }
  }

  // Element i is largest on rank i mod P.
  template <typename T>
  static void expect_max() {
    const auto collectives = chunked();
    const auto p = static_cast<std::size_t>(world().size);
    std::vector<T> values(count());
    for (std::size_t i = 0; i < count(); ++i) {
      const bool mine = i % p == static_cast<std::size_t>(world().rank);
      values[i] = static_cast<T>(mine ? 100 + i % 100 : i % 100);
    }
    collectives->all_reduce(values.data(), count(), kTypeOf<T>, ReduceOp::kMax);
    for (std::size_t i = 0; i < count(); ++i) {
      ASSERT_EQ(values[i], static_cast<T>(100 + i % 100)) << "element " << i;
    }
  }

  template <typename T>
  static void expect_broadcast() {
    const auto collectives = chunked();
    for (int root = 0; root < world().size; ++root) {
      std::vector<T> values(count());
      for (std::size_t i = 0; i < count(); ++i) {
        values[i] = static_cast<T>(static_cast<std::size_t>(world().rank) * 50 + i % 50);
      }
      collectives->broadcast(values.data(), count(), kTypeOf<T>, root);
      for (std::size_t i = 0; i < count(); ++i) {
        ASSERT_EQ(values[i], static_cast<T>(static_cast<std::size_t>(root) * 50 + i % 50))
            << "root " << root << " element " << i;
      }
    }
  }
};

TEST_P(SizesTest, SumOfFloat32) { expect_sum<float>(); }
TEST_P(SizesTest, SumOfFloat64) { expect_sum<double>(); }
TEST_P(SizesTest, SumOfInt64) { expect_sum<std::int64_t>(); }
TEST_P(SizesTest, MaxOfFloat32) { expect_max<float>(); }
TEST_P(SizesTest, MaxOfFloat64) { expect_max<double>(); }
TEST_P(SizesTest, MaxOfInt64) { expect_max<std::int64_t>(); }
TEST_P(SizesTest, BroadcastOfFloat32) { expect_broadcast<float>(); }
TEST_P(SizesTest, BroadcastOfFloat64) { expect_broadcast<double>(); }
TEST_P(SizesTest, BroadcastOfInt64) { expect_broadcast<std::int64_t>(); }
TEST_P(SizesTest, BroadcastOfBytes) { expect_broadcast<std::uint8_t>(); }

// The string of rank r has (count + 3 r) mod (count + 4) letters, so lengths differ and some may be
// 0.
TEST_P(SizesTest, GatherOfStringsOfDifferentLengths) {
  const auto collectives = chunked();
  const auto text = [](int rank) {
    const std::size_t length = (count() + 3 * static_cast<std::size_t>(rank)) % (count() + 4);
    std::string letters(length, '\0');
    for (std::size_t i = 0; i < length; ++i) {
      letters[i] = static_cast<char>((i * 7 + static_cast<std::size_t>(rank) * 31) % 256);
    }
    return letters;
  };
  const std::vector<std::string> all = collectives->all_gather(text(world().rank));
  ASSERT_EQ(all.size(), static_cast<std::size_t>(world().size));
  for (int r = 0; r < world().size; ++r) EXPECT_EQ(all[static_cast<std::size_t>(r)], text(r));
}

INSTANTIATE_TEST_SUITE_P(OneCall, SizesTest,
                         ::testing::Combine(::testing::Values(0, 1, 3, 1001, 300007),
                                            ::testing::Values(kDefaultChunk)));
INSTANTIATE_TEST_SUITE_P(Chunks, SizesTest,
                         ::testing::Combine(::testing::Values(0, 1, 3, 7, 14, 1001),
                                            ::testing::Values(1, 7)));
INSTANTIATE_TEST_SUITE_P(LargeChunks, SizesTest,
                         ::testing::Combine(::testing::Values(300007), ::testing::Values(65536)));

class CollectivesTest : public test::MpiTest {};

TEST_F(CollectivesTest, ScalarsAndTexts) {
  const auto collectives = make_collectives();
  const int p = world().size;
  const int last = p - 1;
  EXPECT_EQ(collectives->sum(0.5 * (world().rank + 1)), 0.25 * p * (p + 1));
  EXPECT_EQ(collectives->sum(std::int64_t{1} << 40), std::int64_t{p} << 40);
  EXPECT_EQ(collectives->max(std::int64_t{-5} + world().rank), -5 + last);
  std::vector<double> values{1.0, static_cast<double>(world().rank)};
  collectives->sum(values);
  EXPECT_EQ(values, (std::vector<double>{1.0 * p, 0.5 * p * last}));
  EXPECT_EQ(collectives->broadcast(10.0 * world().rank, last), 10.0 * last);
  const std::string text(static_cast<std::size_t>(world().rank) * 5, 'x');
  EXPECT_EQ(collectives->broadcast(text, last).size(), static_cast<std::size_t>(last) * 5);
  EXPECT_EQ(collectives->broadcast(text, 0), "");
}

// Values whose sum depends on the order of addition: whatever the order, all ranks see one result.
TEST_F(CollectivesTest, EveryRankGetsTheSameBits) {
  const auto collectives = make_collectives();
  for (const std::size_t count : {1U, 5U, 1001U, 300007U}) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = 1.0F / static_cast<float>(1 + world().rank * 7919 + static_cast<int>(i));
    }
    collectives->all_reduce(values.data(), count, DataType::kFloat32, ReduceOp::kSum);
    std::string bits(count * sizeof(float), '\0');
    std::memcpy(bits.data(), values.data(), bits.size());
    EXPECT_TRUE(collectives->broadcast(bits, 0) == bits) << count << " elements";
  }
}

TEST_F(CollectivesTest, OperationsOnSeveralCommunicatorsOverlap) {
  const auto first = make_collectives();
  const auto second = make_collectives();
  std::vector<double> a(5000, world().rank);
  std::vector<double> b(7, 1);
  std::vector<double> c(5000, 2);
  auto work_a = first->start_all_reduce(a.data(), a.size(), DataType::kFloat64, ReduceOp::kSum);
  auto work_c = first->start_all_reduce(c.data(), c.size(), DataType::kFloat64, ReduceOp::kSum);
  second->all_reduce(b.data(), b.size(), DataType::kFloat64, ReduceOp::kSum);
  while (!work_c->poll()) std::this_thread::yield();
  work_c->wait();
  work_a->wait();
  const double p = world().size;
  EXPECT_EQ(a, std::vector<double>(5000, p * (p - 1) / 2));
  EXPECT_EQ(b, std::vector<double>(7, p));
  EXPECT_EQ(c, std::vector<double>(5000, 2 * p));
}

TEST_F(CollectivesTest, MistakesAreRefusedBeforeAnythingIsSent) {
  const auto collectives = make_collectives();
  std::uint8_t byte = 1;
  EXPECT_THROW(collectives->all_reduce(&byte, 1, DataType::kByte, ReduceOp::kSum), Error);
  EXPECT_THROW(collectives->all_reduce(&byte, 1, DataType::kByte, ReduceOp::kMax), Error);
  EXPECT_THROW(collectives->broadcast(&byte, 1, DataType::kByte, world().size), Error);
  EXPECT_THROW(collectives->broadcast(&byte, 1, DataType::kByte, -1), Error);
  MpiOptions nothing = options();
  nothing.max_count = 0;
  EXPECT_THROW(static_cast<void>(make_collectives(nothing)), Error);
  EXPECT_EQ(collectives->sum(std::int64_t{1}), world().size);
}

TEST_F(CollectivesTest, WorldCountsTheProcessesOfTheHost) {
  const auto collectives = make_collectives();
  EXPECT_EQ(world().local_size, world().size);
  EXPECT_EQ(world().local_rank, world().rank);
  EXPECT_FALSE(world().host.empty());
  EXPECT_EQ(collectives->world().rank, world().rank);
  EXPECT_EQ(collectives->sum(std::int64_t{world().rank}), world().size * (world().size - 1) / 2);
}

TEST_F(CollectivesTest, ASecondSessionIsRefused) {
  int argc = 0;
  char** argv = nullptr;
  EXPECT_THROW(MpiSession(argc, argv), Error);
}

// The last rank comes two seconds late. The others give up after half a second; the late one finds
// their contributions all the same, and MPI goes on.
TEST_F(CollectivesTest, AWaitBeyondItsDeadlineNamesTheOperation) {
  if (world().size == 1) GTEST_SKIP() << "one rank waits for nobody";
  MpiOptions impatient = options();
  impatient.timeout_s = 0.5;
  impatient.name = "impatient";
  const auto collectives = make_collectives(impatient);
  const bool late = world().rank == world().size - 1;
  // The transport owns the buffer of an operation that was given up, so it outlives the test.
  static std::vector<float> values(12, 1.0F);
  if (late) std::this_thread::sleep_for(std::chrono::seconds(2));
  const auto start = std::chrono::steady_clock::now();
  try {
    auto work = collectives->start_all_reduce(values.data(), values.size(), DataType::kFloat32,
                                              ReduceOp::kSum);
    work->wait();
    EXPECT_TRUE(late) << "the wait ended although a rank was missing";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_FALSE(late) << text;
    EXPECT_NE(text.find("all-reduce of 12 float32 elements"), std::string::npos) << text;
    EXPECT_NE(text.find("communicator 'impatient'"), std::string::npos) << text;
    EXPECT_NE(text.find("0.5 s"), std::string::npos) << text;
    EXPECT_NE(text.find("rank " + std::to_string(world().rank)), std::string::npos) << text;
    const double waited =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    EXPECT_GE(waited, 0.5);
    EXPECT_LT(waited, 1.9);
  }
  EXPECT_EQ(make_collectives()->sum(std::int64_t{1}), world().size);
}

}  // namespace
}  // namespace lockstep::comm
