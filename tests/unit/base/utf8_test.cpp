#include "lockstep/base/utf8.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Utf8, WhatIsWellFormed) {
  for (const char* good : {"", "abc", "\xC3\xA9", "\xE7\x8C\xAB", "\xF0\x9F\x90\x88",
                           "\xF4\x8F\xBF\xBF", "\xED\x9F\xBF", "\xEE\x80\x80"}) {
    EXPECT_TRUE(is_utf8(good)) << good;
  }
  for (const char* bad :
       {"\x80", "\xC3", "\xC0\xAF", "\xC1\xBF", "\xE0\x80\xAF", "\xED\xA0\x80", "\xF0\x80\x80\xAF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE7\x8C", "a\xFFz"}) {
    EXPECT_FALSE(is_utf8(bad)) << bad;
  }
}

TEST(Utf8, WhatCannotBePrintedIsEscaped) {
  EXPECT_EQ(escaped("a b~\n\x7f\xC3\xA9"), "a b~\\x0a\\x7f\\xc3\\xa9");
}

}  // namespace
}  // namespace lockstep
