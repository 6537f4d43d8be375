#include "lib/class_list.hpp"

#include <gtest/gtest.h>

#include "lockstep/base/check.hpp"
#include "temp_folder.hpp"

namespace lockstep::tools {
namespace {

using Names = std::vector<std::string>;

Names sorted(Names names, ClassOrder order) {
  sort_classes(names, order);
  return names;
}

TEST(ClassList, OrderOfBytesAndOfNumbers) {
  const Names names{"10", "2", "b", "a", "Z", "1"};
  EXPECT_EQ(sorted(names, ClassOrder::kByte), (Names{"1", "10", "2", "Z", "a", "b"}));
  EXPECT_EQ(sorted(names, ClassOrder::kNatural), (Names{"1", "2", "10", "Z", "a", "b"}));
}

TEST(ClassList, NaturalOrder) {
  const Names rising{"",
                     "-1",
                     "0",
                     "01",
                     "1",
                     "1a",
                     "2",
                     "2.5",
                     "10",
                     "010a",
                     "18446744073709551616",
                     "A2B9",
                     "A2B10",
                     "a",
                     "a1b1",
                     "a1b2",
                     "a01b3",
                     "a1b10",
                     "a2",
                     "img9",
                     "img12",
                     "\xC3\xA9"};
  Names reversed(rising.rbegin(), rising.rend());
  EXPECT_EQ(sorted(reversed, ClassOrder::kNatural), rising);
}

TEST(ClassList, NaturalOrderIsAnOrder) {
  Names all;
  for (const char* a : {"", "0", "00", "1", "01", "9", "10", "a", "-"}) {
    for (const char* b : {"", "0", "7", "07", "b"}) all.push_back(std::string(a) + "x" + b);
  }
  for (const auto& a : all) {
    for (const auto& b : all) {
      EXPECT_EQ(int{natural_less(a, b)} + int{natural_less(b, a)} + int{a == b}, 1)
          << a << " and " << b;
      for (const auto& c : all) {
        if (natural_less(a, b) && natural_less(b, c)) {
          EXPECT_TRUE(natural_less(a, c)) << a << ", " << b << ", " << c;
        }
      }
    }
  }
}

TEST(ClassList, NamesOfAText) {
  EXPECT_EQ(names_in("cat\ndog"), (Names{"cat", "dog"}));
  EXPECT_EQ(names_in("\xEF\xBB\xBF"
                     "cat\r\n\r\n dog \n\n"),
            (Names{"cat", " dog "}));
  EXPECT_EQ(names_in(""), Names{});
  EXPECT_EQ(names_in("\n\n"), Names{});
}

TEST(ClassList, FaultsAreNamed) {
  EXPECT_EQ(fault_of_classes({"a", "b c", "\xC3\xA9"}), "");
  EXPECT_NE(fault_of_classes({}).find("no class"), std::string::npos);
  EXPECT_NE(fault_of_classes({"a", "b", "a"}).find("'a' is named twice"), std::string::npos);
  EXPECT_NE(fault_of_classes({"a\tb"}).find("a\\x09b"), std::string::npos);
  EXPECT_NE(fault_of_classes({std::string("a\0b", 3)}).find("a\\x00b"), std::string::npos);
  EXPECT_NE(fault_of_classes({"\xFF"}).find("\\xff"), std::string::npos);
  EXPECT_NE(fault_of_classes({std::string(256, 'x')}).find("longer"), std::string::npos);
  EXPECT_EQ(fault_of_classes({std::string(255, 'x')}), "");
}

TEST(ClassList, ReadsAFileAndNamesItInErrors) {
  const TempFolder root;
  root.touch("list.txt", "zebra\nant\n");
  EXPECT_EQ(read_class_list(root / "list.txt"), (Names{"zebra", "ant"}));
  root.touch("twice.txt", "ant\nbee\nant\n");
  for (const auto& [file, word] :
       {std::pair("twice.txt", "'ant' is named twice"), std::pair("nowhere.txt", "No such file")}) {
    try {
      (void)read_class_list(root / file);
      FAIL() << file << " was taken";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(file), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace lockstep::tools
