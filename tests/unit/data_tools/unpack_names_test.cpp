#include "lib/unpack_names.hpp"

#include <gtest/gtest.h>

#include "lockstep/base/utf8.hpp"

namespace lockstep::tools {
namespace {

using Names = std::vector<std::string>;

TEST(UnpackNames, NothingLeadsOutOfAFolder) {
  EXPECT_EQ(safe_name("cat 1.x"), "cat 1.x");
  EXPECT_EQ(safe_name("\xC3\xA9t\xC3\xA9"), "\xC3\xA9t\xC3\xA9");
  EXPECT_EQ(safe_name(""), "");
  EXPECT_EQ(safe_name("."), "_");
  EXPECT_EQ(safe_name(".."), "_.");
  EXPECT_EQ(safe_name(".hidden"), "_hidden");
  EXPECT_EQ(safe_name("../../etc/passwd"), "_._.._etc_passwd");
  EXPECT_EQ(safe_name("/abs\\x:*?\"<>|"), "_abs_x_______");
  EXPECT_EQ(safe_name("a\nb\x7F"), "a_b_");
  EXPECT_EQ(safe_name(std::string("a\0b", 3)), "a_b");
  EXPECT_EQ(safe_name("\xFFx"), "_x");
  std::string long_name;
  for (int i = 0; i < 100; ++i) long_name += "\xE7\x8C\xAB";
  const std::string cut = safe_name(long_name);
  EXPECT_LE(cut.size(), 180U);
  EXPECT_GT(cut.size(), 170U);
  EXPECT_TRUE(is_utf8(cut));
}

TEST(UnpackNames, NamesOfClassAndSource) {
  EXPECT_EQ(picture_files({"cat", "dog"}, {0, 1, 0, 1, 0, 0},
                          {"cat/1.jpg", "dog/deep/er/2.PNG", "cat/no_suffix", "disk/dog/3.jpeg",
                           "data.bin/000007", ""}),
            (Names{"cat/1.png", "dog/deep_er_2.png", "cat/no_suffix.png", "dog/disk_dog_3.png",
                   "cat/data.bin_000007.png", "cat/sample_5.png"}));
}

TEST(UnpackNames, EqualNamesGetTheirNumber) {
  EXPECT_EQ(
      picture_files({"a"}, {0, 0, 0, 0, 0}, {"a/x.png", "a/x.jpg", "a/X.png", "a/x-1.png", "a/x"}),
      (Names{"a/x.png", "a/x-1.png", "a/X-2.png", "a/x-1-3.png", "a/x-4.png"}));
  // The next free one, when that is taken, too.
  EXPECT_EQ(picture_files({"a"}, {0, 0, 0}, {"x-2.png", "x.png", "x.jpg"}),
            (Names{"a/x-2.png", "a/x.png", "a/x-2-2.png"}));
  EXPECT_EQ(picture_files({"a/b", "a_b", "A_B", "", ".."}, {0, 1, 2, 3, 4}, {"", "", "", "", ""}),
            (Names{"a_b/sample_0.png", "a_b-1/sample_1.png", "A_B-2/sample_2.png",
                   "class/sample_3.png", "_./sample_4.png"}));
  EXPECT_EQ(picture_files({"samples.jsonl"}, {0}, {"x.png"}), (Names{"samples.jsonl-0/x.png"}));
}

}  // namespace
}  // namespace lockstep::tools
