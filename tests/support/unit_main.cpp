#include <gtest/gtest.h>

#include <iostream>

// A program that runs no test has failed: a filter or a build error must not look like success.
int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  if (::testing::GTEST_FLAG(list_tests)) {
    return result;
  }
  if (::testing::UnitTest::GetInstance()->test_to_run_count() == 0) {
    std::cerr << "no test ran (the filter matches none) - check --gtest_filter\n";
    return 1;
  }
  return result;
}
