#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <cstdint>
#include <limits>
#include <locale>
#include <string>
#include <vector>

#include "base/parse_value.hpp"
#include "error_text.hpp"
#include "lockstep/base/cli.hpp"
#include "lockstep/base/wording.hpp"
#include "small_program.hpp"
#include "temp_folder.hpp"

namespace lockstep {
namespace {

TEST(ParseDouble, TakesPlainNumbers) {
  EXPECT_EQ(parse_double("1e-3", "x"), 1e-3);
  EXPECT_EQ(parse_double(".1", "x"), 0.1);
  EXPECT_EQ(parse_double("-3", "x"), -3.0);
  EXPECT_EQ(parse_double("5.", "x"), 5.0);
  EXPECT_EQ(parse_double("2.5E+2", "x"), 250.0);
  EXPECT_EQ(parse_double("0.1", "x"), 0.1);
}

TEST(ParseDouble, RefusesAllElse) {
  for (const char* text : {"",      " ",     " 1",   "1 ",       "+3",  "1,5", "0x10", "10k",
                           "nan",   "inf",   "-inf", "infinity", "1e",  "e5",  "--3",  "1.2.3",
                           "1e400", "1_000", ".",    "-",        "1d3", "1f",  "one"}) {
    EXPECT_THROW((void)parse_double(text, "x"), UsageError) << "'" << text << "'";
  }
}

TEST(ParseDouble, SaysWhatToDo) {
  EXPECT_EQ(error_text([] { (void)parse_double("1,5", "--optim.lr"); }),
            "--optim.lr: '1,5' is not a number (digits, one point and an exponent are allowed) - "
            "write a point, not a comma, before the decimals");
  EXPECT_NE(error_text([] { (void)parse_double("10k", "x"); }).find("without a suffix"),
            std::string::npos);
  EXPECT_NE(error_text([] { (void)parse_double("+3", "x"); }).find("plus sign"), std::string::npos);
  EXPECT_NE(error_text([] { (void)parse_double("nan", "x"); }).find("finite"), std::string::npos);
}

TEST(ParseInt, TakesDigitsAlone) {
  EXPECT_EQ(parse_int("0", "x"), 0);
  EXPECT_EQ(parse_int("-12", "x"), -12);
  EXPECT_EQ(parse_int("9223372036854775807", "x"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_int("-9223372036854775808", "x"), std::numeric_limits<std::int64_t>::min());
  for (const char* text : {"", "1.0", "1e5", "+1", "0x10", "10k", " 1", "1 ", "1,000", "--1",
                           "9223372036854775808", "-9223372036854775809"}) {
    EXPECT_THROW((void)parse_int(text, "x"), UsageError) << "'" << text << "'";
  }
}

TEST(ParseInt, SaysHowToWriteAWholeNumber) {
  EXPECT_NE(error_text([] { (void)parse_int("1e5", "x"); }).find("write 100000"),
            std::string::npos);
  EXPECT_NE(error_text([] { (void)parse_int("3.0", "x"); }).find("write 3"), std::string::npos);
  EXPECT_TRUE(error_text([] {
                (void)parse_int("ten", "x");
              }).ends_with(" - write a whole number such as 3"));
  EXPECT_TRUE(error_text([] { (void)parse_int("1,5", "x"); }).ends_with("without commas"));
  EXPECT_TRUE(error_text([] { (void)parse_double("ten", "x"); }).ends_with("3, 0.1 or 1e-3"));
  EXPECT_NE(error_text([] { (void)parse_int("2.5", "x"); }).find("not a whole number"),
            std::string::npos);
  EXPECT_NE(error_text([] { (void)parse_int("99999999999999999999", "x"); }).find("too large"),
            std::string::npos);
}

TEST(ParseUnsigned, CoversSixtyFourBits) {
  EXPECT_EQ(parse_unsigned("18446744073709551615", "x"), std::numeric_limits<std::uint64_t>::max());
  for (const char* text : {"-1", "18446744073709551616", "1.0", "", "-1.0"}) {
    EXPECT_THROW((void)parse_unsigned(text, "x"), UsageError) << "'" << text << "'";
  }
}

TEST(ParseBool, TakesEightWordsInAnyCase) {
  for (const char* text : {"true", "yes", "on", "1", "TRUE", "Yes", "oN"}) {
    EXPECT_TRUE(parse_bool(text, "x")) << text;
  }
  for (const char* text : {"false", "no", "off", "0", "False", "NO"}) {
    EXPECT_FALSE(parse_bool(text, "x")) << text;
  }
  for (const char* text : {"", "2", "ja", "t", "truee", " true"}) {
    EXPECT_THROW((void)parse_bool(text, "x"), UsageError) << "'" << text << "'";
  }
}

TEST(ParseList, TakesCommasAndSpaces) {
  const std::vector<double> expected{0.49, 0.48, 0.45};
  EXPECT_EQ(parse_list("0.49, 0.48, 0.45", "x"), expected);
  EXPECT_EQ(parse_list("0.49 0.48\t0.45", "x"), expected);
  EXPECT_EQ(parse_list(" 0.49,0.48 , 0.45 ", "x"), expected);
  EXPECT_TRUE(parse_list("", "x").empty());
  for (const char* text : {"0.1,,0.2", "0.1,", ",0.1", "0.1;0.2", "a b"}) {
    EXPECT_THROW((void)parse_list(text, "x"), UsageError) << "'" << text << "'";
  }
}

TEST(NumberText, IsTheShortestThatReadsBack) {
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(25), "25");
  for (const double value : {5e-4, 1.0 / 3, 1e-300, 123456789.125, -0.0, 0x1.fffffffffffffp+1023}) {
    const double back = parse_double(number_text(value), "x");
    EXPECT_EQ(back, value);
    EXPECT_EQ(std::signbit(back), std::signbit(value));
  }
}

class CommaDecimals : public std::numpunct<char> {
 protected:
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

/// Sets a locale with decimal commas: C++'s, and C's where the machine has one.
class LocaleTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"}) {
      if (std::setlocale(LC_ALL, name) != nullptr) {
        break;
      }
    }
    before_ = std::locale::global(std::locale(std::locale(), new CommaDecimals));
  }
  void TearDown() override {
    std::locale::global(before_);
    std::setlocale(LC_ALL, "C");
  }

 private:
  std::locale before_;
};

TEST_F(LocaleTest, NumbersDoNotDependOnIt) {
  EXPECT_EQ(std::use_facet<std::numpunct<char>>(std::locale()).decimal_point(), ',');
  EXPECT_EQ(parse_double("1234.5", "x"), 1234.5);
  EXPECT_THROW((void)parse_double("1234,5", "x"), UsageError);
  EXPECT_EQ(parse_int("1234567", "x"), 1234567);
  EXPECT_EQ(number_text(1234567.5), "1234567.5");
  RunConfig config;
  config.optim.lr = 1234.5;
  config.train.batch_size = 1234567;
  const std::string text = to_text(config);
  EXPECT_NE(text.find("lr = 1234.5\n"), std::string::npos);
  EXPECT_NE(text.find("batch_size = 1234567\n"), std::string::npos);
  const TempFolder folder;
  const CommandLine back = parse({"train", "--config", folder.write("saved.cfg", text)});
  EXPECT_EQ(back.config.optim.lr, 1234.5);
  EXPECT_EQ(back.config.train.batch_size, 1234567);
}

}  // namespace
}  // namespace lockstep
