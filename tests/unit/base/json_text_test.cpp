#include "lockstep/base/json_text.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

using namespace std::string_view_literals;

TEST(JsonFault, DeepBracketsAndZeroBytes) {
  EXPECT_EQ(json_fault(R"({"a": [1, {"b": []}]})"), "");
  EXPECT_EQ(json_fault(std::string(64, '[') + std::string(64, ']')), "");
  EXPECT_EQ(json_fault(std::string(65, '[')), "its brackets are nested too deeply");
  EXPECT_EQ(json_fault(std::string(65, '{')), "its brackets are nested too deeply");
  EXPECT_EQ(json_fault("{}\0[]"sv), "it holds a zero byte");
  EXPECT_EQ(json_fault("\"a\0\""sv), "it holds a zero byte");
  EXPECT_EQ(json_fault("\"\\\0\""sv), "it holds a zero byte");
}

TEST(JsonFault, BracketsInStringsDoNotCount) {
  EXPECT_EQ(json_fault("\"" + std::string(100, '[') + "\""), "");
  EXPECT_EQ(json_fault(R"("\"[)" + std::string(100, '[') + "\""), "") << "an escaped quote";
  EXPECT_EQ(json_fault(R"("\\")" + std::string(65, '[')), "its brackets are nested too deeply")
      << "an escaped backslash, then the end of the string";
  EXPECT_EQ(json_fault("]]]" + std::string(64, '[')), "") << "wrong, but not deep";
}

}  // namespace
}  // namespace lockstep
