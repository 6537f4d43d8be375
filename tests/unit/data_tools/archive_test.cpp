#include "lib/archive.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <span>

#include "archives.hpp"
#include "lib/gzip_file.hpp"
#include "lockstep/base/check.hpp"
#include "temp_folder.hpp"

namespace lockstep::tools {
namespace {

namespace fs = std::filesystem;

using Texts = std::map<std::string, std::string>;

Texts texts(const std::map<std::string, Bytes>& files) {
  Texts all;
  for (const auto& [name, bytes] : files) all[name] = std::string(bytes.begin(), bytes.end());
  return all;
}

/// Incompressible, so that damage of an archive is damage of the text.
std::string noise(std::size_t bytes) {
  std::string text;
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < bytes; ++i) {
    state = state * 1664525U + 1013904223U;
    text += static_cast<char>(state >> 24U);
  }
  return text;
}

std::string small_archive() {
  return tar_entry("folder/", "", '5') + tar_entry("folder/one", "first") +
         tar_entry("folder/other", noise(3000)) + tar_entry("folder/two", noise(700)) + tar_end();
}

/// What is said of an archive; "" when it is read.
std::string refusal(const std::string& input, const std::set<std::string>& names = {"one", "two"}) {
  try {
    (void)read_named_files(input, names);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(Archive, FilesOfAnArchiveOrAFolderByName) {
  const TempFolder root;
  const Texts wanted{{"one", "first"}, {"two", noise(700)}};
  root.touch("plain.tar", small_archive());
  root.touch("packed.tar.gz", gzipped(small_archive()));
  root.touch("folder/one", "first");
  root.touch("folder/two", noise(700));
  root.touch("folder/other", "x");
  fs::create_directories(root / "folder/three");
  for (const char* input : {"plain.tar", "packed.tar.gz", "folder", "folder/"}) {
    EXPECT_EQ(texts(read_named_files(root / input, {"one", "two", "three"})), wanted) << input;
  }
}

TEST(Archive, OnlyRegularFilesCount) {
  const TempFolder root;
  root.touch("a.tar", tar_entry("one", "", '5') + tar_entry("x/two", "", '2') + tar_end());
  EXPECT_TRUE(read_named_files(root / "a.tar", {"one", "two"}).empty());
}

TEST(Archive, TwoFilesOfOneNameAreRefused) {
  const TempFolder root;
  root.touch("a.tar", tar_entry("x/one", "1") + tar_entry("y/one", "2") + tar_end());
  EXPECT_NE(refusal(root / "a.tar").find("two files one"), std::string::npos);
}

TEST(Archive, WhatIsNoArchiveIsRefused) {
  const TempFolder root;
  root.touch("text", "no archive at all\n");
  root.touch("empty", "");
  ASSERT_EQ(::mkfifo((root / "pipe").c_str(), 0600), 0);
  for (const char* name : {"text", "empty", "pipe"}) {
    EXPECT_NE(refusal(root / name).find(name), std::string::npos) << refusal(root / name);
  }
  EXPECT_NE(refusal(root / "nowhere").find("nowhere"), std::string::npos);
}

TEST(Archive, ACutArchiveIsRefusedWhereverItIsCut) {
  const TempFolder root;
  const std::string whole = gzipped(small_archive());
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    root.touch("cut", whole.substr(0, size));
    EXPECT_NE(refusal(root / "cut"), "") << size << " of " << whole.size() << " bytes";
  }
  root.touch("cut", whole.substr(0, whole.size() - 1));
  EXPECT_NE(refusal(root / "cut").find("cut off"), std::string::npos) << refusal(root / "cut");
}

TEST(Archive, DamageIsNeverTakenForContents) {
  const TempFolder root;
  const std::string whole = gzipped(small_archive());
  root.touch("whole", whole);
  const Texts wanted = texts(read_named_files(root / "whole", {"one", "two"}));
  int passed = 0;
  for (std::size_t at = 0; at < whole.size(); at += 3) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    root.touch("damaged", damaged);
    // Some bits mean nothing here (time and system in the header, where in a run of zeros the next
    // ones are copied from): then what comes out is what was packed.
    if (refusal(root / "damaged").empty()) {
      ++passed;
      EXPECT_EQ(texts(read_named_files(root / "damaged", {"one", "two"})), wanted);
    }
  }
  EXPECT_LT(passed, 20) << "of " << whole.size() / 3;
}

TEST(GzipFile, PlainAndPackedReadTheSame) {
  const TempFolder root;
  const std::string text = noise(3'000'000);
  root.touch("plain", text);
  root.touch("packed", gzipped(text));
  root.touch("twice", gzipped(text.substr(0, 1000)) + gzipped(text.substr(1000)));
  for (const char* name : {"plain", "packed", "twice"}) {
    GzipFile file(root / name);
    std::string read(text.size() + 10, '\0');
    const std::span<std::uint8_t> out(reinterpret_cast<std::uint8_t*>(read.data()), read.size());
    EXPECT_EQ(file.read(out.first(5)), 5U);
    EXPECT_EQ(file.read(out.subspan(5)), text.size() - 5) << name;
    EXPECT_EQ(read.substr(0, text.size()), text) << name;
    EXPECT_EQ(file.read(out), 0U);
  }
}

}  // namespace
}  // namespace lockstep::tools
