// copy_state and state_digest: what goes into a network, and how ranks compare what is in it.
#include <cstring>

#include "small_network.hpp"

namespace lockstep::train {
namespace {

NamedTensors copies(const model::Network& network) {
  NamedTensors tensors = state_of(network);
  for (auto& [name, tensor] : tensors) tensor = tensor.detach().clone();
  return tensors;
}

at::Tensor& find(NamedTensors& tensors, const std::string& name) {
  for (auto& [key, tensor] : tensors) {
    if (key == name) return tensor;
  }
  throw std::logic_error("no tensor " + name);
}

bool equal(const model::Network& a, const model::Network& b) {
  const NamedTensors x = state_of(a);
  const NamedTensors y = state_of(b);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i].first != y[i].first || !at::equal(x[i].second, y[i].second)) return false;
  }
  return x.size() == y.size();
}

TEST(StateOfTest, ParametersThenBuffersInOrder) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : state_of(SmallNetwork())) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"conv", "weight", "bias", "running_mean", "batches"}));
}

TEST(CopyStateTest, CopiesEverything) {
  const SmallNetwork from(1);
  SmallNetwork into(2);
  ASSERT_FALSE(equal(from, into));
  copy_state(into, copies(from));
  EXPECT_TRUE(equal(from, into));
  EXPECT_TRUE(into.at("conv").is_contiguous(at::MemoryFormat::ChannelsLast)) << "its own strides";
}

TEST(CopyStateTest, TheOrderIsFreeAndTypesAreConverted) {
  const SmallNetwork from(1);
  SmallNetwork into(2);
  NamedTensors tensors = copies(from);
  std::reverse(tensors.begin(), tensors.end());
  for (auto& [name, tensor] : tensors) tensor = tensor.to(at::kDouble);
  copy_state(into, tensors);
  EXPECT_TRUE(equal(from, into));
  EXPECT_EQ(into.at("weight").scalar_type(), at::kFloat);
  EXPECT_EQ(into.at("batches").scalar_type(), at::kLong);
}

TEST(CopyStateTest, EachMismatchIsNamed) {
  SmallNetwork network;
  NamedTensors tensors = copies(network);
  tensors.erase(tensors.begin() + 2);  // bias
  expect_says(failure([&] { copy_state(network, tensors); }), "1 mismatches: bias is missing");

  tensors = copies(network);
  tensors.emplace_back("stray", at::ones({1}));
  expect_says(failure([&] { copy_state(network, tensors); }), "stray is not in the network");

  tensors = copies(network);
  find(tensors, "weight") = at::ones({7, 5});
  expect_says(failure([&] { copy_state(network, tensors); }),
              "weight has shape [7, 5], the network [5, 7]");
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{}, {1}, {35}, {5, 7, 1}}) {
    find(tensors, "weight") = at::ones(shape);  // some could be broadcast, none may be
    expect_says(failure([&] { copy_state(network, tensors); }), "weight has shape");
  }
}

TEST(CopyStateTest, TheFirstMismatchesAreNamedAndAllCounted) {
  SmallNetwork network;
  NamedTensors tensors = copies(network);
  tensors.erase(tensors.begin());  // conv
  find(tensors, "bias") = at::ones({6});
  const std::string message = failure([&] { copy_state(network, tensors); });
  expect_says(message, "2 mismatches: conv is missing; bias has shape [6], the network [5])");

  tensors.clear();
  for (int i = 0; i < 20; ++i) tensors.emplace_back("stray" + std::to_string(i), at::ones({1}));
  const std::string many = failure([&] { copy_state(network, tensors); });
  expect_says(many, "25 mismatches: ");
  for (const char* name : {"conv", "weight", "bias", "running_mean", "batches"}) {
    expect_says(many, std::string(name) + " is missing");
  }
  EXPECT_EQ(many.find("stray"), std::string::npos) << "five are enough: " << many;
}

TEST(CopyStateTest, AMismatchLeavesTheNetworkAsItWas) {
  const SmallNetwork before(1);
  SmallNetwork network(1);
  NamedTensors tensors = copies(SmallNetwork(2));
  tensors.pop_back();
  expect_says(failure([&] { copy_state(network, tensors); }), "batches is missing");
  EXPECT_TRUE(equal(network, before));
}

TEST(StateDigestTest, EqualNetworksAgree) {
  const SmallNetwork a(1);
  EXPECT_EQ(state_digest(a), state_digest(SmallNetwork(1)));
  EXPECT_EQ(state_digest(a).size(), 32U);
  EXPECT_NE(state_digest(a), state_digest(SmallNetwork(2)));
}

TEST(StateDigestTest, OneBitOfAnyTensorChangesIt) {
  const std::string before = state_digest(SmallNetwork());
  for (const auto& [name, unused] : state_of(SmallNetwork())) {
    const SmallNetwork changed;
    const at::Tensor tensor = changed.at(name);
    auto* bytes = static_cast<unsigned char*>(tensor.mutable_data_ptr());
    for (const std::size_t place : {std::size_t{0}, tensor.nbytes() - 1}) {
      bytes[place] = static_cast<unsigned char>(bytes[place] ^ 1U);
      EXPECT_NE(state_digest(changed), before) << name << " byte " << place;
      bytes[place] = static_cast<unsigned char>(bytes[place] ^ 1U);
    }
    EXPECT_EQ(state_digest(changed), before) << name;
  }
}

TEST(StateDigestTest, TheSignOfZeroCounts) {
  const SmallNetwork a;
  const SmallNetwork b;
  a.at("bias").fill_(0.0);
  b.at("bias").fill_(-0.0);
  EXPECT_TRUE(equal(a, b));
  EXPECT_NE(state_digest(a), state_digest(b));
}

TEST(StateDigestTest, StridesDoNotCount) {
  const SmallNetwork a;
  SmallNetwork b;
  for (auto& item : b.named_parameters()) {
    const torch::NoGradGuard no_grad;
    if (item.key() == "conv") item.value().set_data(item.value().contiguous());
  }
  ASSERT_NE(a.at("conv").strides(), b.at("conv").strides());
  EXPECT_EQ(state_digest(a), state_digest(b));
}

}  // namespace
}  // namespace lockstep::train
