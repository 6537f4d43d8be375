#include "lockstep/train/safetensors.hpp"

#include <cstring>
#include <limits>

#include "small_network.hpp"

namespace lockstep::train {
namespace {

/// The same type, shape and bits (NaN included), in logical order.
void expect_same(const at::Tensor& read, const at::Tensor& written, const std::string& name) {
  EXPECT_EQ(read.scalar_type(), written.scalar_type()) << name;
  ASSERT_EQ(read.sizes(), written.sizes()) << name;
  EXPECT_TRUE(read.is_contiguous()) << name;
  const at::Tensor plain = written.contiguous();
  EXPECT_TRUE(read.nbytes() == 0 ||
              std::memcmp(read.const_data_ptr(), plain.const_data_ptr(), read.nbytes()) == 0)
      << name << '\n'
      << read << plain;
}

NamedTensors through_a_file(const NamedTensors& tensors) {
  const TempFolder folder;
  write_safetensors(folder.path("t.safetensors"), tensors);
  return read_safetensors(folder.path("t.safetensors"));
}

void expect_round_trip(const NamedTensors& tensors) {
  const NamedTensors read = through_a_file(tensors);
  ASSERT_EQ(read.size(), tensors.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].first, tensors[i].first) << "the order is kept";
    expect_same(read[i].second, tensors[i].second, tensors[i].first);
  }
}

TEST(SafetensorsTest, RoundTripOfEveryType) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr auto kSmallest = std::numeric_limits<std::int64_t>::min();
  expect_round_trip({
      {"single", at::tensor({0.1F, -0.0F, 1e-45F, 3e38F, static_cast<float>(kNan)})},
      {"double", at::tensor({0.1, -0.0, 5e-324, 1e308, kNan, -1 / 0.0})},
      {"long", at::tensor({kSmallest, std::int64_t{-1}, std::int64_t{0}, ~kSmallest})},
      {"scalar", at::scalar_tensor(2.5, at::kDouble)},
      {"odd", at::arange(3, at::kFloat)},  // the next one starts at no multiple of 8
      {"matrix", at::arange(6, at::kDouble).view({2, 3})},
  });
}

TEST(SafetensorsTest, RoundTripOfNothing) {
  expect_round_trip({});
  expect_round_trip({{"empty", at::empty({0}, at::kFloat)},
                     {"a", at::ones({2}, at::kFloat)},
                     {"no rows", at::empty({0, 3}, at::kDouble)},
                     {"no columns", at::empty({3, 0, 2}, at::kLong)}});
}

TEST(SafetensorsTest, NamesOfAllSorts) {
  const at::Tensor one = at::ones({1});
  expect_round_trip({{"", one},
                     {"a.b", one},
                     {"quote\" and \\", one},
                     {"\xC3\xA9", one},
                     {"line\n", one},
                     {"dtype", one}});
}

TEST(SafetensorsTest, StridesDoNotShow) {
  const at::Tensor base = at::arange(2 * 3 * 4 * 5, at::kFloat).view({2, 3, 4, 5});
  expect_round_trip({
      {"channels_last", base.contiguous(at::MemoryFormat::ChannelsLast)},
      {"transposed", base.transpose(1, 3)},
      {"every other", base.slice(2, 0, 4, 2)},
      {"part", base.select(1, 2)},
      {"repeated", at::arange(3, at::kDouble).view({3, 1}).expand({3, 4})},
      {"needs a gradient", base.clone().requires_grad_(true)},
  });
}

// The layout of the format, byte by byte, not only what our own reader makes of it.
TEST(SafetensorsTest, TheFileIsAsTheFormatSays) {
  const TempFolder folder;
  const at::Tensor image = at::arange(8, at::kFloat).view({1, 2, 2, 2});
  write_safetensors(folder.path("t"), {{"n", at::scalar_tensor(-2, at::kLong)},
                                       {"x", image.contiguous(at::MemoryFormat::ChannelsLast)}});
  const std::string file = content_of(folder.path("t"));
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  EXPECT_EQ(length % 8, 0U);
  ASSERT_EQ(file.size(), 8 + length + 8 + 32);
  std::string header = file.substr(8, length);
  header.resize(header.find_last_not_of(' ') + 1);
  EXPECT_EQ(header, R"({"n":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
                    R"("x":{"dtype":"F32","shape":[1,2,2,2],"data_offsets":[8,40]}})");
  std::int64_t number = 0;
  std::memcpy(&number, file.data() + 8 + length, sizeof number);
  EXPECT_EQ(number, -2);
  for (std::size_t i = 0; i < 8; ++i) {
    float value = 0;
    std::memcpy(&value, file.data() + 8 + length + 8 + 4 * i, sizeof value);
    EXPECT_EQ(value, static_cast<float>(i)) << "logical order, whatever the strides";
  }
}

/// A file of one tensor, written by hand.
std::string one_tensor(const char* dtype, const at::Tensor& tensor) {
  std::string header = std::string(R"({"w":{"dtype":")") + dtype + R"(","shape":[)" +
                       std::to_string(tensor.numel()) + R"(],"data_offsets":[0,)" +
                       std::to_string(tensor.nbytes()) + "]}}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  file += header;
  return file.append(static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes());
}

TEST(SafetensorsTest, TypesOfWeightsFromElsewhere) {
  const TempFolder folder;
  const at::Tensor values = at::tensor({1.5, 2.0, 100.0});
  for (const auto& [dtype, type] :
       {std::pair("F16", at::kHalf), std::pair("BF16", at::kBFloat16), std::pair("I32", at::kInt),
        std::pair("I16", at::kShort), std::pair("I8", at::kChar), std::pair("U8", at::kByte)}) {
    const at::Tensor written = values.to(type);
    std::ofstream(folder.path(dtype), std::ios::binary) << one_tensor(dtype, written);
    const NamedTensors read = read_safetensors(folder.path(dtype));
    ASSERT_EQ(read.size(), 1U) << dtype;
    EXPECT_EQ(read[0].second.scalar_type(), type) << dtype;
    EXPECT_TRUE(at::equal(read[0].second, written)) << dtype;
  }
}

TEST(SafetensorsTest, WhatCannotBeWritten) {
  const TempFolder folder;
  const auto writing = [&](const NamedTensors& tensors) {
    return failure([&] { write_safetensors(folder.path("t"), tensors); });
  };
  const at::Tensor one = at::ones({1});
  for (const auto type : {at::kHalf, at::kBFloat16, at::kInt, at::kByte, at::kBool}) {
    expect_says(writing({{"odd one", one.to(type)}}), "odd one");
  }
  expect_says(writing({{"a", one}, {"twin", one}, {"twin", one}}), "twin");
  expect_says(writing({{"__metadata__", one}}), "__metadata__");
  EXPECT_FALSE(std::filesystem::exists(folder.path("t"))) << "refused before anything is written";
  expect_says(failure([&] {
                write_safetensors(folder.path("no/folder"), {{"a", one}});
              }),
              "no/folder");
}

}  // namespace
}  // namespace lockstep::train
