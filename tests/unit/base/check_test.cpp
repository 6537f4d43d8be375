#include "lockstep/base/check.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace lockstep {
namespace {

TEST(Error, ComposesProblemWhyAndHint) {
  const Error error("no shards", "the folder is empty", "pack some");
  EXPECT_STREQ(error.what(), "no shards (the folder is empty) - pack some");
  EXPECT_EQ(error.code(), ExitCode::kFailed);
  EXPECT_STREQ(Error("no shards", "", "").what(), "no shards");
  EXPECT_STREQ(Error("no shards", "", "pack some").what(), "no shards - pack some");
}

TEST(Error, UsageErrorHasExitCodeTwo) {
  EXPECT_EQ(static_cast<int>(UsageError("a", "b", "c").code()), 2);
  EXPECT_EQ(static_cast<int>(ExitCode::kStopRequested), 85);
}

TEST(Require, ThrowsOnlyWhenItDoesNotHold) {
  EXPECT_NO_THROW(require(true, "a", "b", "c"));
  EXPECT_THROW(require(false, "a", "b", "c"), Error);
}

TEST(MessageOf, KeepsOurOwnWhole) { EXPECT_EQ(message_of(Error("a", "b", "c")), "a (b) - c"); }

TEST(Error, WhatCameFromOutsideStaysOnOneLineAndShort) {
  const std::string forged("x\nlockstep: error: all is well \x1b[2J\0y", 37);
  EXPECT_STREQ(Error(forged, "\t", "\x7f").what(),
               "x\\x0alockstep: error: all is well \\x1b[2J\\x00y (\\x09) - \\x7f");
  EXPECT_STREQ(Error("\xC3\xA9t\xC3\xA9", "", "").what(), "\xC3\xA9t\xC3\xA9") << "UTF-8 stays";
  EXPECT_EQ(std::string(Error(std::string(2000, 'a'), "", "").what()), std::string(2000, 'a'));
  EXPECT_EQ(std::string(Error("a", std::string(5000, 'b'), "c").what()),
            "a (" + std::string(2000, 'b') + "...) - c");
  EXPECT_EQ(std::string(Error(std::string(1999, 'a') + "\xC3\xA9", "", "").what()),
            std::string(1999, 'a') + "...")
      << "not within a character";
}

TEST(MessageOf, LeavesOutABacktrace) {
  EXPECT_EQ(message_of(std::runtime_error("shapes differ\nException raised from f at x.cpp:1")),
            "shapes differ");
}

TEST(MessageOf, ALackOfMemoryGetsReasonAndAdvice) {
  const std::string torch = message_of(
      std::runtime_error("[enforce fail at alloc_cpu.cpp:127] . DefaultCPUAllocator: "
                         "can't allocate memory: you tried to allocate 9 bytes.\nframe"));
  EXPECT_EQ(torch.find("memory ran out ([enforce fail"), 0U) << torch;
  EXPECT_EQ(torch.find("frame"), torch.npos);
  EXPECT_NE(torch.find(") - use a smaller batch"), torch.npos) << torch;
  EXPECT_EQ(message_of(std::bad_alloc()).find("memory ran out (std::bad_alloc) - "), 0U);
  EXPECT_EQ(message_of(std::runtime_error("CUDA out of memory. Tried")).find("memory ran out"), 0U);
}

TEST(ErrnoText, NamesTheError) {
  errno = ENOENT;
  EXPECT_EQ(errno_text(), "No such file or directory");
}

TEST(EditDistance, CountsInsertionsDeletionsAndSubstitutions) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("batch_size", "batchsize"), 1U);
  EXPECT_EQ(edit_distance("lr", "rl"), 2U);
}

TEST(NearestName, FindsTheClosestOrNone) {
  const std::vector<std::string> names{"momentum", "nesterov", "weight_decay"};
  EXPECT_EQ(nearest_name("momentun", names), "momentum");
  EXPECT_EQ(nearest_name("weigth_decay", names), "weight_decay");
  EXPECT_EQ(nearest_name("dropout", names), "");
}

TEST(MessageOf, TheSystemsOwnExceptionsGetAReasonAndAnAdvice) {
  const std::filesystem::filesystem_error file("canonical", "/some/where",
                                               std::make_error_code(std::errc::permission_denied));
  EXPECT_EQ(message_of(file),
            "cannot use '/some/where' (Permission denied) - check the path and its rights");
  const std::system_error thread(std::make_error_code(std::errc::resource_unavailable_try_again));
  EXPECT_EQ(message_of(thread).find("the system refused a request (Resource temporarily"), 0U)
      << message_of(thread);
}

}  // namespace
}  // namespace lockstep
