#include "lib/scan.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "lockstep/base/check.hpp"
#include "temp_folder.hpp"

namespace lockstep::tools {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> paths(const ScanResult& result) {
  std::vector<std::string> all;
  for (const Sample& file : result.files) {
    all.push_back(std::to_string(file.label) + ":" + file.path);
  }
  return all;
}

using Paths = std::vector<std::string>;

TEST(Scan, ClassesInByteOrderAndDeepFilesOfTheTopFolder) {
  const TempFolder root;
  for (const char* name : {"10/a.png", "2/b.JPG", "2/deep/er/a.jpeg", "Z/c.png", "a/d.png"}) {
    root.touch(name);
  }
  const ScanResult result = scan_folders({root.path()});
  EXPECT_EQ(result.classes, (Paths{"10", "2", "Z", "a"}));
  EXPECT_EQ(paths(result),
            (Paths{"0:10/a.png", "1:2/b.JPG", "1:2/deep/er/a.jpeg", "2:Z/c.png", "3:a/d.png"}));
  EXPECT_EQ(result.roots[0].ignored_count(), 0);
}

TEST(Scan, EverythingElseIsIgnoredAndCounted) {
  const TempFolder root;
  for (const char* name : {"a/1.png", "a/._1.png", "a/.DS_Store", "a/.hidden/2.png", "a/notes.txt",
                           "a/README", ".git/x.png", ".git/y/z.png", "top.png", ".top"}) {
    root.touch(name);
  }
  ASSERT_EQ(::mkfifo((root / "a/pipe.png").c_str(), 0600), 0);
  const ScanResult result = scan_folders({root.path()});
  EXPECT_EQ(paths(result), (Paths{"0:a/1.png"}));
  EXPECT_EQ(result.roots[0].ignored.at("hidden"), 6);
  EXPECT_EQ(result.roots[0].ignored.at("no picture's suffix, and neither JPEG nor PNG inside"), 2);
  EXPECT_EQ(result.roots[0].ignored.at("not in a class folder"), 1);
  EXPECT_EQ(result.roots[0].ignored.at("not a file"), 1);
}

TEST(Scan, OtherSuffixesArePicturesByTheirFirstBytes) {
  const TempFolder root;
  const std::string jpeg = "\xFF\xD8\xFF\xE0 and more";
  const std::string png("\x89PNG\r\n\x1A\n\0\0\0\rIHDR", 16);
  root.touch("a/jpeg_without", jpeg);
  root.touch("a/photo.jpg_large", jpeg);
  root.touch("a/short", jpeg.substr(0, 3));
  root.touch("a/png.txt", png);
  root.touch("a/deep/0123456789abcdef", png.substr(0, 8));
  root.touch("a/named.png", "no picture, but it says so");
  root.touch("a/.hidden", png);
  root.touch("Thumbs", png);
  root.touch("a/cut", jpeg.substr(0, 2));
  root.touch("a/cut_png", png.substr(0, 7));
  root.touch("a/later", " " + png);
  root.touch("a/webp", "RIFF....WEBP");
  root.touch("a/Thumbs.db", "\xD0\xCF\x11\xE0" + jpeg);
  root.touch("a/empty", "");
  root.touch("a/f\xFF.txt", "not UTF-8, and no picture");
  fs::create_symlink(root / "nowhere", root / "a/broken");
  ASSERT_EQ(::mkfifo((root / "a/pipe").c_str(), 0600), 0);
  const ScanResult result = scan_folders({root.path()});
  EXPECT_EQ(paths(result), (Paths{"0:a/deep/0123456789abcdef", "0:a/jpeg_without", "0:a/named.png",
                                  "0:a/photo.jpg_large", "0:a/png.txt", "0:a/short"}));
  EXPECT_EQ(result.roots[0].ignored.at("no picture's suffix, and neither JPEG nor PNG inside"), 7);
  EXPECT_EQ(result.roots[0].ignored.at("no picture's suffix, and not readable"), 1);
  EXPECT_EQ(result.roots[0].ignored.at("hidden"), 1);
  EXPECT_EQ(result.roots[0].ignored.at("not in a class folder"), 1);
  EXPECT_EQ(result.roots[0].ignored.at("not a file"), 1);
  root.touch("a/p\xFF", png);
  EXPECT_THROW((void)scan_folders({root.path()}), UsageError) << "a picture with such a name";
}

TEST(Scan, LinksAreFollowedAndCirclesAreNot) {
  const TempFolder root;
  const TempFolder elsewhere;
  root.touch("a/1.png");
  elsewhere.touch("far/2.png");
  fs::create_directory_symlink(elsewhere / "far", root / "b");
  fs::create_symlink(elsewhere / "far/2.png", root / "a/3.png");
  fs::create_directory_symlink(root / "a", root / "a/self");
  fs::create_directory_symlink(root.path(), root / "a/up");
  fs::create_symlink(root / "nowhere.png", root / "a/broken.png");
  const ScanResult result = scan_folders({root.path()});
  EXPECT_EQ(paths(result), (Paths{"0:a/1.png", "0:a/3.png", "0:a/broken.png", "1:b/2.png"}));
  EXPECT_EQ(result.roots[0].ignored.at("link to a folder around it"), 2);
}

/// Message of the error that scanning throws; all of them are wrong use.
std::string refusal(const std::string& root, const ScanOptions& options = {}) {
  try {
    (void)scan_folders({root}, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    return error.what();
  }
  return "nothing was refused";
}

TEST(Scan, WhatIsRefusedIsNamed) {
  const TempFolder root;
  EXPECT_NE(refusal(root / "nowhere").find("nowhere"), std::string::npos);
  root.touch("picture.png");
  EXPECT_NE(refusal(root.path()).find("no class folder"), std::string::npos);
  root.touch("full/1.png");
  root.touch("only_text/a.txt");
  EXPECT_NE(refusal(root.path()).find("'only_text'"), std::string::npos);
  EXPECT_EQ(scan_folders({root.path()}, {.allow_empty_classes = true}).classes,
            (Paths{"full", "only_text"}));
}

TEST(Scan, LabelsByAGivenList) {
  const TempFolder root;
  root.touch("c/1.png");
  root.touch("a/1.png");
  const ScanOptions list{.classes = {"c", "b", "a"}, .classes_from = "the list"};
  const ScanResult result = scan_folders({root.path()}, list);
  EXPECT_EQ(result.classes, (Paths{"c", "b", "a"}));
  EXPECT_EQ(paths(result), (Paths{"0:c/1.png", "2:a/1.png"}));
  root.touch("d/1.png");
  EXPECT_NE(refusal(root.path(), list).find("'d'"), std::string::npos);
  EXPECT_NE(refusal(root.path(), list).find("the list has no such class"), std::string::npos);
}

TEST(Scan, AListThatNamesMoreThanThereIsIsRefusedOnDemand) {
  const TempFolder root;
  root.touch("a/1.png");
  ScanOptions list{.classes = {"a", "b"}, .classes_from = "the list"};
  EXPECT_EQ(scan_folders({root.path()}, list).classes, (Paths{"a", "b"}));
  list.every_class_wanted = true;
  EXPECT_NE(refusal(root.path(), list).find("class 'b' of the list has no folder"),
            std::string::npos);
  list.allow_empty_classes = true;
  EXPECT_EQ(scan_folders({root.path()}, list).classes, (Paths{"a", "b"}));
}

TEST(Scan, NaturalOrderOfClasses) {
  const TempFolder root;
  for (const char* name : {"10/a.png", "9/a.png", "1/a.png"}) root.touch(name);
  EXPECT_EQ(scan_folders({root.path()}).classes, (Paths{"1", "10", "9"}));
  const ScanResult natural = scan_folders({root.path()}, {.order = ClassOrder::kNatural});
  EXPECT_EQ(natural.classes, (Paths{"1", "9", "10"}));
  EXPECT_EQ(paths(natural), (Paths{"0:1/a.png", "1:9/a.png", "2:10/a.png"}));
}

TEST(Scan, SeveralRootsAreMerged) {
  const TempFolder all;
  for (const char* name : {"one/photos/cat/1.png", "one/photos/cat/2.png", "one/photos/dog/1.png",
                           "two/photos/cat/1.png", "two/photos/ant/1.png", "two/photos/ant/.x",
                           "one/photos/notes.txt"}) {
    all.touch(name);
  }
  const ScanResult result = scan_folders({all / "two/photos", (all / "one/photos") + "/"});
  EXPECT_EQ(result.classes, (Paths{"ant", "cat", "dog"}));
  EXPECT_EQ(paths(result),
            (Paths{"0:two/photos/ant/1.png", "1:one/photos/cat/1.png", "1:one/photos/cat/2.png",
                   "1:two/photos/cat/1.png", "2:one/photos/dog/1.png"}));
  ASSERT_EQ(result.roots.size(), 2U);
  EXPECT_EQ(result.roots[0].pictures, 2);
  EXPECT_EQ(result.roots[1].pictures, 3);
  EXPECT_EQ(result.roots[0].ignored.at("hidden"), 1);
  EXPECT_EQ(result.roots[1].ignored.at("not in a class folder"), 1);
  for (const Sample& sample : result.files) {
    EXPECT_TRUE(sample.path.starts_with(result.roots[sample.origin].prefix)) << sample.path;
  }
}

TEST(Scan, AClassIsEmptyWhenItIsInAllRoots) {
  const TempFolder all;
  all.touch("one/cat/1.png");
  all.touch("one/dog/notes.txt");
  all.touch("two/dog/1.png");
  EXPECT_EQ(scan_folders({all / "one", all / "two"}).classes, (Paths{"cat", "dog"}));
  fs::remove(all / "two/dog/1.png");
  all.touch("two/cat/1.png");
  try {
    (void)scan_folders({all / "one", all / "two"});
    FAIL() << "an empty class was taken";
  } catch (const UsageError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("'dog' of '" + (all / "one") + "', '" + (all / "two")), std::string::npos)
        << text;
  }
}

TEST(Scan, NamesThatAreNoUtf8AreRefused) {
  const TempFolder root;
  root.touch("a/\xE9t\xE9.png");
  EXPECT_NE(refusal(root.path()).find("\\xe9t\\xe9.png"), std::string::npos);
  const TempFolder other;
  other.touch("\xFF/1.png");
  EXPECT_NE(refusal(other.path()).find("\\xff"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::tools
