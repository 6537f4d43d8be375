// Files of torch.save, made opcode by opcode: what is read of them, and that nothing else is.
#include <gtest/gtest.h>

#include "lockstep/train/weights_file.hpp"
#include "small_network.hpp"
#include "support/torch_files.hpp"

namespace lockstep::train {
namespace {

using namespace torch_files;

std::string floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

const std::string kSix = floats({0, 1, 2, 3, 4, 5});

WeightsFile read(const std::string& content) {
  const TempFolder folder;
  return read_weights(folder.write("some.file", content));
}

std::string refusal(const std::string& content) {
  return failure([&] { (void)read(content); });
}

void expect_values(const at::Tensor& tensor, const std::vector<std::int64_t>& sizes,
                   const std::vector<float>& values) {
  EXPECT_EQ(tensor.sizes(), sizes);
  EXPECT_TRUE(tensor.is_contiguous());
  EXPECT_TRUE(at::equal(tensor.reshape({-1}), at::tensor(values))) << tensor;
}

/// A storage of six numbers, and tensors that lie in it in different ways.
std::string six() { return storage("FloatStorage", "7", 6); }
std::string shared_dict() {
  return dict({{"rows", rebuild(six(), 0, {2, 3}, {3, 1})},
               {"columns", rebuild(six(), 0, {3, 2}, {1, 3})},
               {"late", rebuild(six(), 3, {2}, {2})},
               {"scalar", rebuild(six(), 4, {}, {})},
               {"empty", rebuild(six(), 0, {0, 4}, {4, 1})}});
}

void expect_shared(const WeightsFile& weights) {
  ASSERT_EQ(weights.tensors.size(), 5U);
  EXPECT_EQ(weights.note, "");
  EXPECT_EQ(weights.tensors[0].first, "rows");
  expect_values(weights.tensors[0].second, {2, 3}, {0, 1, 2, 3, 4, 5});
  expect_values(weights.tensors[1].second, {3, 2}, {0, 3, 1, 4, 2, 5});
  expect_values(weights.tensors[2].second, {2}, {3, 5});
  expect_values(weights.tensors[3].second, {}, {4});
  expect_values(weights.tensors[4].second, {0, 4}, {});
}

TEST(TorchWeights, BothFormatsAreReadAndKnownByTheirContents) {
  expect_shared(read(legacy(shared_dict(), {{"7", kSix}})));
  expect_shared(read(zip(records(shared_dict(), {{"7", kSix}}))));
}

TEST(TorchWeights, EveryTypeOfNumbers) {
  for (const auto& [name, type] :
       std::vector<std::pair<std::string, at::ScalarType>>{{"FloatStorage", at::kFloat},
                                                           {"DoubleStorage", at::kDouble},
                                                           {"HalfStorage", at::kHalf},
                                                           {"BFloat16Storage", at::kBFloat16},
                                                           {"LongStorage", at::kLong},
                                                           {"IntStorage", at::kInt},
                                                           {"ByteStorage", at::kByte},
                                                           {"BoolStorage", at::kBool}}) {
    const at::Tensor values = at::tensor({1, 0, 1}).to(type);
    const std::string bytes(static_cast<const char*>(values.const_data_ptr()), values.nbytes());
    const std::string object = dict({{"w", rebuild(storage(name, "0", 3), 0, {3}, {1})}});
    for (const std::string& file : {legacy(object, {{"0", bytes}}, values.element_size()),
                                    zip(records(object, {{"0", bytes}}))}) {
      const at::Tensor tensor = read(file).tensors.at(0).second;
      EXPECT_EQ(tensor.scalar_type(), type);
      EXPECT_TRUE(at::equal(tensor, values)) << name;
    }
  }
  const std::string odd = dict({{"w", rebuild(storage("BoolStorage", "0", 2), 0, {2}, {1})}});
  const at::Tensor made = read(legacy(odd, {{"0", "\x02" + little(0, 1)}}, 1)).tensors[0].second;
  EXPECT_TRUE(at::equal(made.to(at::kInt), at::tensor({1, 0}, at::kInt))) << "2 is true";
  for (const char* name : {"CharStorage", "ComplexFloatStorage", "UntypedStorage"}) {
    expect_says(refusal(legacy(dict({{"w", rebuild(storage(name, "0", 3), 0, {3}, {1})}}), {})),
                "the name torch." + std::string(name) + " is not allowed");
  }
}

TEST(TorchWeights, ParametersAndTensorsOfOlderVersions) {
  const std::string tensor = rebuild(six(), 0, {6}, {1});
  const std::string old = pickles::global("torch._utils", "_rebuild_tensor") + "(" + six() +
                          number(0) + tuple({6}) + tuple({1}) + "tR";
  const std::string hooks = "\x88" + pickles::ordered_dict() + ")R";
  for (const std::string& value :
       {pickles::global("torch._utils", "_rebuild_parameter") + "(" + tensor + hooks + "tR", old,
        pickles::global("torch.nn.parameter", "Parameter") + tensor + "\x85R(" + hooks + "\x89tb",
        pickles::global("torch.nn.parameter", "Parameter") + old + "\x88\x86\x81"}) {
    const WeightsFile weights = read(legacy(dict({{"w", value}}), {{"7", kSix}}));
    ASSERT_EQ(weights.tensors.size(), 1U);
    expect_values(weights.tensors[0].second, {6}, {0, 1, 2, 3, 4, 5});
  }
}

TEST(TorchWeights, AStateDictInACheckpoint) {
  const std::string tensor = rebuild(six(), 0, {6}, {1});
  const std::string state = dict({{"w", tensor}});
  // An optimizer's state has tensors deeper down; its storages are passed over.
  const std::string optimizer =
      "}" + pickles::unicode("state") + "}" + number(0) +
      dict({{"momentum", rebuild(storage("FloatStorage", "9", 1), 0, {1}, {1})}}) + "ss";
  const Contents contents{{"7", kSix}, {"9", floats({1})}};
  const auto with = [&](const std::string& entries) {
    return "}(" + pickles::unicode("epoch") + "K\x03" + pickles::unicode("optimizer") + optimizer +
           entries + "u";
  };
  const auto entry = [&](const std::string& name) { return pickles::unicode(name) + state; };
  for (const auto& [entries, name] : std::vector<std::pair<std::string, std::string>>{
           {entry("state_dict"), "state_dict"},
           {entry("any"), "any"},
           {entry("model_ema") + entry("model"), "model"}}) {
    for (const std::string& file :
         {legacy(with(entries), contents), zip(records(with(entries), contents))}) {
      const WeightsFile weights = read(file);
      EXPECT_EQ(weights.note, "entry '" + name + "' of it");
      ASSERT_EQ(weights.tensors.size(), 1U);
      expect_values(weights.tensors[0].second, {6}, {0, 1, 2, 3, 4, 5});
    }
  }
  expect_says(refusal(legacy(with(""), contents)), "none of the entries of its dict");
  expect_says(refusal(legacy(with(entry("one") + entry("two")), contents)), "several entries");
  expect_says(refusal(legacy(with(entry("model") + entry("state_dict")), contents)),
              "several entries");
  expect_says(refusal(legacy(with(pickles::unicode("w") + tensor), contents)),
              "beside other things");
  expect_says(refusal(legacy("}", {})), "is empty");
  expect_says(refusal(legacy(six(), {{"7", kSix}})), "holds no state dict");
}

TEST(TorchWeights, NamesWithoutTheirWrapper) {
  const std::string tensor = rebuild(six(), 0, {6}, {1});
  const auto names = [&](const std::string& one, const std::string& other) {
    const WeightsFile weights = read(legacy(dict({{one, tensor}, {other, tensor}}), {{"7", kSix}}));
    return weights.tensors[0].first + " " + weights.tensors[1].first + " " + weights.note;
  };
  EXPECT_EQ(names("module.a", "module.b.c"), "a b.c names without 'module.'");
  EXPECT_EQ(names("_orig_mod.module.a", "_orig_mod.module.b"),
            "a b names without '_orig_mod.'; names without 'module.'");
  EXPECT_EQ(names("module.a", "b"), "module.a b ");
  EXPECT_EQ(names("module.a", "module."), "module.a module. ");
}

TEST(TorchWeights, ATensorThatReachesBeyondItsStorageIsRefused) {
  constexpr std::int64_t kMost = INT64_MAX;
  const std::string beyond = "tensor 'w' reaches beyond its storage";
  for (const auto& [tensor, word] : std::vector<std::pair<std::string, std::string>>{
           {rebuild(six(), 1, {6}, {1}), beyond},
           {rebuild(six(), 0, {7}, {1}), beyond},
           {rebuild(six(), 0, {2, 3}, {4, 1}), beyond},
           {rebuild(six(), 6, {}, {}), beyond},
           {rebuild(six(), kMost, {2}, {1}), beyond},
           {rebuild(six(), 0, {kMost, kMost}, {1, 1}), beyond},
           {rebuild(six(), 0, {3, 2}, {kMost, 1}), beyond},
           {rebuild(six(), 0, {0, kMost, kMost}, {1, 1, 1}), beyond},
           {rebuild(six(), 0, {1LL << 40U}, {0}), "more than 100 times"},
           {rebuild(six(), -1, {2}, {1}), "no number from 0"},
           {rebuild(six(), 0, {-1}, {1}), "no number from 0"},
           {rebuild(six(), 3, {2}, {-1}), "no number from 0"},
           {rebuild(six(), 0, {6}, {}), "not one stride for each size"},
           {rebuild(six(), 0, {6}, {1}, "}" + pickles::unicode("neg") + "\x88s"), "negated"},
           {rebuild("N", 0, {6}, {1}), "none of numbers in a storage"},
           {pickles::global("torch._utils", "_rebuild_parameter") + ")R", "is no parameter"},
           {pickles::global("torch._utils", "_rebuild_tensor_v2") + ")R", "none of numbers"},
       }) {
    expect_says(refusal(legacy(dict({{"w", tensor}}), {{"7", kSix}})), word);
    expect_says(refusal(zip(records(dict({{"w", tensor}}), {{"7", kSix}}))), word);
  }
  const std::string good = rebuild(six(), 0, {6}, {1}, "}");
  EXPECT_EQ(refusal(legacy(dict({{"w", good}}), {{"7", kSix}})), "(no error)");
  expect_says(refusal(legacy(dict({{"w", good}, {"w", good}}), {{"7", kSix}})), "'w' twice");
}

TEST(TorchWeights, StoragesThatDoNotFitAreRefused) {
  const auto one = [](const std::string& in) { return dict({{"w", rebuild(in, 0, {1}, {1})}}); };
  const auto huge = storage("DoubleStorage", "7", INT64_MAX);
  expect_says(refusal(legacy(one(huge), {{"7", kSix}})), "too large");
  expect_says(refusal(legacy(one(storage("FloatStorage", "7", 7)), {{"7", kSix}})),
              "has 6 elements, not 7");
  expect_says(refusal(zip(records(one(storage("FloatStorage", "7", 7)), {{"7", kSix}}))),
              "has 24 bytes, not 28");
  expect_says(refusal(legacy(one(six()), {{"8", kSix}})), "does not fit");
  expect_says(refusal(legacy(one(six()), {{"7", kSix}, {"7", kSix}})), "does not fit");
  expect_says(refusal(legacy(one(six()), {})), "does not fit");
  expect_says(refusal(legacy(one(six()), {{"7", kSix}}) + "x"), "more bytes follow");
  expect_says(refusal(zip(records(one(six()), {{"8", kSix}}))), "storage '7' is missing");
  expect_says(refusal(legacy(one(storage("FloatStorage", "7", 6, "(" + number(1) + "t")), {})),
              "a part of another");
  expect_says(refusal(legacy(one("U\x01"
                                 "aQ"),
                             {})),
              "something else than a storage");
  const std::string two = dict({{"a", rebuild(six(), 0, {1}, {1})},
                                {"b", rebuild(storage("IntStorage", "7", 6), 0, {1}, {1})}});
  expect_says(refusal(legacy(two, {{"7", kSix}})), "described in two ways");
}

TEST(TorchWeights, AStorageThatNoTensorLiesInCountsForNothing) {
  const std::string view = rebuild(six(), 0, {1LL << 20U}, {0});
  const std::string claimed = rebuild(storage("FloatStorage", "9", 1LL << 40U), 0, {1}, {1});
  const auto both = [&](const std::string& weights) {
    return dict({{"state_dict", weights}, {"other", dict({{"x", claimed}})}});
  };
  expect_says(refusal(zip(records(both(dict({{"w", view}})), {{"7", kSix}}))),
              "more than 100 times");
  const std::string good = dict({{"w", rebuild(six(), 0, {6}, {1})}});
  EXPECT_EQ(refusal(zip(records(both(good), {{"7", kSix}}))), "(no error)");
}

TEST(TorchWeights, AnotherOrderOfBytesIsRefused) {
  const std::string object = shared_dict();
  expect_says(refusal(legacy(object, {{"7", kSix}}, 4, "\x89")), "highest bytes first");
  expect_says(refusal(legacy(object, {{"7", kSix}}, 4, "N")), "does not tell");
  expect_says(refusal(zip(records(object, {{"7", kSix}}, "big"))), "highest bytes first");
  Contents old = records(object, {{"7", kSix}});
  old.erase(old.begin() + 1);
  expect_shared(read(zip(old)));  // files of older versions do not tell
}

TEST(TorchWeights, NoZipArchiveButThatOfAStateDict) {
  expect_says(refusal(zip({{"model.json", "{}"}})), "without a record data.pkl");
  Contents two = records(shared_dict(), {{"7", kSix}});
  two.emplace_back("data/data.pkl", "N.");
  expect_says(refusal(zip(two)), "several records data.pkl");
  const std::string zeros(1'000'000, '\0');
  expect_says(
      refusal(
          zip(records(dict({{"w", rebuild(storage("FloatStorage", "0", 250'000), 0, {1}, {1})}}),
                      {{"0", zeros}}),
              true)),
      "is compressed");
}

TEST(TorchWeights, WhatIsNoStateDictIsNamed) {
  for (const auto& [module, name] : {std::pair("os", "system"), std::pair("builtins", "exec"),
                                     std::pair("torchvision.models.resnet", "ResNet")}) {
    const std::string object = pickles::global(module, name) + pickles::unicode("true") + "\x85R";
    for (const std::string& file : {legacy(object, {}), zip(records(object, {}))}) {
      const std::string said = refusal(file);
      expect_says(said, "the name " + std::string(module) + "." + name + " is not allowed");
      expect_says(said, "torch.save(model.state_dict(), FILE)");
    }
  }
  for (const std::string& file : {std::string(), std::string("text of some length"),
                                  pickles::proto(2) + "}.", std::string("PK\x05\x06")}) {
    expect_says(refusal(file), "neither a file of safetensors nor one of torch.save");
  }
  const TempFolder folder;
  expect_says(failure([&] { (void)read_weights(folder.path("nowhere")); }), "nowhere");
  std::filesystem::create_directory(folder.path("a-folder"));
  expect_says(failure([&] { (void)read_weights(folder.path("a-folder")); }), "a-folder");
}

TEST(TorchWeights, NoneIsTakenThatIsCutAnywhere) {
  const auto expect_cut = [](const std::string& whole, std::size_t step) {
    for (std::size_t size = 0; size < whole.size(); size += step) {
      EXPECT_NE(refusal(whole.substr(0, size)), "(no error)") << size << " of " << whole.size();
    }
    EXPECT_NE(refusal(whole.substr(0, whole.size() - 1)), "(no error)");
  };
  expect_cut(legacy(shared_dict(), {{"7", kSix}}), 1);
  expect_cut(zip(records(shared_dict(), {{"7", kSix}})), 7);
}

/// How many of the files are refused in which one bit of each byte is another. `expect` looks at
/// those that are read.
template <typename Expect>
std::size_t count_refused(const std::string& whole, Expect expect) {
  std::size_t refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ (1U << (at % 8)));
    WeightsFile weights;
    if (failure([&] { weights = read(changed); }) == "(no error)") {
      expect(weights);
    } else {
      ++refused;
    }
  }
  return refused;
}

TEST(TorchWeights, AnyBitMayBeAnother) {
  const auto nothing = [](const WeightsFile& /*weights*/) {};
  EXPECT_GT(count_refused(legacy(shared_dict(), {{"7", kSix}}), nothing), 300U);
  // Checksums: no other tensors come of it. (Most bytes of so small an archive are between
  // records.)
  EXPECT_GT(count_refused(zip(records(shared_dict(), {{"7", kSix}})), expect_shared), 500U);
}

}  // namespace
}  // namespace lockstep::train
