// Files that are no good: every one is refused by an Error that names it, none crashes, none gives
// tensors.
#include <sys/stat.h>

#include <chrono>
#include <cstring>

#include "lockstep/train/safetensors.hpp"
#include "small_network.hpp"

namespace lockstep::train {
namespace {

std::string bytes_of(std::uint64_t number) {
  std::string text(sizeof number, '\0');
  std::memcpy(text.data(), &number, sizeof number);
  return text;
}

std::string file_with(const std::string& header, std::size_t data_bytes) {
  return bytes_of(header.size()) + header + std::string(data_bytes, 'x');
}

std::string tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

/// A file of the one tensor "w".
std::string file_of(const std::string& entry, std::size_t data_bytes) {
  return file_with(R"({"w":)" + entry + "}", data_bytes);
}

NamedTensors read(const std::string& content) {
  const TempFolder folder;
  return read_safetensors(folder.write("hostile.safetensors", content));
}

void expect_refused(const std::string& content, std::string_view word = "hostile.safetensors") {
  const std::string message = failure([&] { (void)read(content); });
  SCOPED_TRACE(content.substr(0, 200));
  expect_says(message, "hostile.safetensors");
  expect_says(message, word);
}

TEST(HostileSafetensorsTest, TheGoodOneIsRead) {
  const auto tensors = read(file_of(tensor("F32", "[2,1]", "[0,8]"), 8));
  ASSERT_EQ(tensors.size(), 1U);
  EXPECT_EQ(tensors[0].first, "w");
  EXPECT_EQ(tensors[0].second.sizes(), (std::vector<std::int64_t>{2, 1}));
}

TEST(HostileSafetensorsTest, NoFile) {
  const TempFolder folder;
  expect_says(failure([&] { (void)read_safetensors(folder.path("nowhere")); }), "nowhere");
  std::filesystem::create_directory(folder.path("a-folder"));
  expect_says(failure([&] { (void)read_safetensors(folder.path("a-folder")); }), "a-folder");
}

TEST(HostileSafetensorsTest, TooShort) {
  const std::string good = file_of(tensor("F32", "[2]", "[0,8]"), 8);
  for (std::size_t size = 0; size < good.size(); ++size) {
    expect_refused(good.substr(0, size));
  }
}

TEST(HostileSafetensorsTest, LengthBeyondTheFile) {
  for (const std::uint64_t length : {std::uint64_t{3}, std::uint64_t{100} << 20U, ~std::uint64_t{0},
                                     ~std::uint64_t{0} - 7, std::uint64_t{1} << 63U}) {
    expect_refused(bytes_of(length) + "{}");
  }
  expect_refused(bytes_of(0));
}

TEST(HostileSafetensorsTest, HeadersThatAreNoJsonObject) {
  for (const char* header : {"not JSON", "{", "{}}", "{\"w\":", "null", "[]", "3", "\"text\"",
                             "true", "[{}]", "{\"\xFF\":{}}", "", "    "}) {
    expect_refused(file_with(header, 0));
  }
  expect_refused(file_with(std::string(1 << 20, '['), 0));
  expect_refused(file_with("{\"w\":" + std::string(1 << 20, '['), 0));
  expect_refused(file_with(std::string("{}\0{}", 5), 0));
}

TEST(HostileSafetensorsTest, EntriesThatAreNoTensor) {
  for (const char* entry : {
           "null",
           "3",
           "[]",
           "{}",
           "\"F32\"",
           R"({"shape":[2],"data_offsets":[0,8]})",
           R"({"dtype":"F32","data_offsets":[0,8]})",
           R"({"dtype":"F32","shape":[2]})",
           R"({"dtype":3,"shape":[2],"data_offsets":[0,8]})",
           R"({"dtype":"F32","shape":2,"data_offsets":[0,8]})",
           R"({"dtype":"F32","shape":null,"data_offsets":[0,4]})",
           R"({"dtype":"F32","shape":{"a":2},"data_offsets":[0,8]})",
           R"({"dtype":"F32","shape":[2],"data_offsets":{"a":0,"b":8}})",
           R"({"dtype":"F32","shape":[2],"data_offsets":8})",
           R"({"dtype":"F32","shape":[2],"data_offsets":[]})",
           R"({"dtype":"F32","shape":[2],"data_offsets":[0]})",
           R"({"dtype":"F32","shape":[2],"data_offsets":[0,8,8]})",
       }) {
    expect_refused(file_of(entry, 8));
  }
}

TEST(HostileSafetensorsTest, NumbersThatAreNoCounts) {
  for (const char* shape : {"[2.0]", "[2.9]", "[-2]", "[true,2]", "[\"2\"]", "[[2]]", "[null]",
                            "[2e0]", "[-0.0]", "[18446744073709551615]", "[1e300]"}) {
    expect_refused(file_of(tensor("F32", shape, "[0,8]"), 8), "w");
  }
  for (const char* offsets : {"[0.0,8.0]", "[0,8.9]", "[-1,7]", "[\"0\",\"8\"]", "[false,8]",
                              "[18446744073709551608,0]", "[0,1e300]"}) {
    expect_refused(file_of(tensor("F32", "[2]", offsets), 8), "w");
  }
}

TEST(HostileSafetensorsTest, TypesThatAreNotRead) {
  for (const char* dtype : {"F8_E4M3", "U16", "U64", "BOOL", "f32", "F32 ", ""}) {
    expect_refused(file_of(tensor(dtype, "[2]", "[0,8]"), 8), std::string("type ") + dtype);
  }
  expect_refused(file_of(tensor("F64", "[2]", "[0,8]"), 8), "w");
  expect_refused(file_of(tensor("F32", "[1]", "[0,8]"), 8), "w");
}

TEST(HostileSafetensorsTest, PlacesOutOfRange) {
  for (const char* offsets :
       {"[0,16]", "[8,16]", "[8,0]", "[0,4]", "[0,0]", "[9,9]", "[4,12]",
        "[9223372036854775807,9223372036854775807]", "[9223372036854775799,9223372036854775807]"}) {
    expect_refused(file_of(tensor("F32", "[2]", offsets), 8), "place");
  }
  expect_refused(file_of(tensor("F32", "[0]", "[9,9]"), 8), "place");
}

TEST(HostileSafetensorsTest, PlacesThatOverlapOrLeaveBytesOut) {
  const auto two = [](const std::string& a, const std::string& b, std::size_t bytes) {
    return file_with(
        R"({"a":)" + tensor("F32", "[2]", a) + R"(,"b":)" + tensor("F32", "[2]", b) + "}", bytes);
  };
  EXPECT_EQ(read(two("[0,8]", "[8,16]", 16)).size(), 2U);
  EXPECT_EQ(read(two("[8,16]", "[0,8]", 16))[0].first, "a");  // any order in the header
  expect_refused(two("[0,8]", "[0,8]", 8), "overlaps");
  expect_refused(two("[0,8]", "[4,12]", 12), "overlaps");
  expect_refused(two("[4,12]", "[0,8]", 12), "overlaps");
  expect_refused(two("[0,8]", "[12,20]", 20), "hole");
  expect_refused(two("[4,12]", "[12,20]", 20), "hole");
  expect_refused(two("[0,8]", "[8,16]", 17), "1 bytes at its end");
  expect_refused(file_with("{}", 1), "belong to no tensor");
}

TEST(HostileSafetensorsTest, ShapesThatOverflow) {
  for (const char* shape :
       {"[4611686018427387904,4]", "[4294967296,4294967296]", "[9223372036854775807]",
        "[2305843009213693952,2,4]", "[0,4611686018427387904,4611686018427387904]",
        "[4611686018427387904,4611686018427387904,0]", "[9223372036854775808]"}) {
    expect_refused(file_of(tensor("F32", shape, "[0,0]"), 0), "w");
    expect_refused(file_of(tensor("F64", shape, "[0,8]"), 8), "w");
  }
}

TEST(HostileSafetensorsTest, EmptyTensors) {
  for (const char* shape : {"[0]", "[0,5]", "[5,0]", "[3,0,1000000]"}) {
    const auto tensors = read(file_of(tensor("F64", shape, "[0,0]"), 0));
    ASSERT_EQ(tensors.size(), 1U);
    EXPECT_EQ(tensors[0].second.numel(), 0);
    expect_refused(file_of(tensor("F64", shape, "[0,8]"), 8), "place");
  }
  EXPECT_TRUE(read(file_with("{}", 0)).empty());
}

TEST(HostileSafetensorsTest, NamesThatStandTwice) {
  const std::string w = R"("w":)" + tensor("F32", "[2]", "[0,8]");
  expect_refused(file_with("{" + w + "," + w + "}", 8), "'w' twice");
  expect_refused(file_with("{" + w + R"(,"\u0077":)" + tensor("F32", "[2]", "[8,16]") + "}", 16),
                 "'w' twice");
  expect_refused(file_of(R"({"dtype":"F32","shape":[9],"shape":[2],"data_offsets":[0,8]})", 8),
                 "twice");
}

TEST(HostileSafetensorsTest, ManyTensorsTakeNoLongerThanTheyMust) {
  std::string header = "{";
  for (int i = 0; i < 60'000; ++i) {
    header += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":" + tensor("F32", "[0]", "[0,0]");
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(read(file_with(header + "}", 0)).size(), 60'000U);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(HostileSafetensorsTest, APipeIsNotWaitedFor) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
  expect_says(failure([&] { (void)read_safetensors(folder.path("pipe")); }), "regular");
}

TEST(HostileSafetensorsTest, MetadataIsNoTensor) {
  const std::string metadata = R"("__metadata__":{"format":"pt","w":"dtype"})";
  const auto tensors =
      read(file_with("{" + metadata + R"(,"w":)" + tensor("F32", "[2]", "[0,8]") + "}  ", 8));
  ASSERT_EQ(tensors.size(), 1U);
  EXPECT_EQ(tensors[0].first, "w");
}

}  // namespace
}  // namespace lockstep::train
