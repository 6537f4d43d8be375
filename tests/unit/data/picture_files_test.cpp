// Picture files as a source of samples.
#include "lockstep/data/picture_files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "lockstep/base/check.hpp"
#include "unit/base/temp_folder.hpp"

namespace lockstep::data {
namespace {
namespace fs = std::filesystem;

using Paths = std::vector<std::string>;

TEST(ListPictures, AFolderInByteOrderWithoutWhatIsHiddenOrNoPicture) {
  const TempFolder folder;
  fs::create_directories(folder.path("b/deep"));
  fs::create_directories(folder.path(".hidden"));
  for (const std::string name :
       {"z.png", "B.JPG", "b/deep/a.jpeg", "a.txt", ".x.png", ".hidden/y.png", "b/Thumbs.db"}) {
    static_cast<void>(folder.write(name, "x"));
  }
  static_cast<void>(
      folder.write("no_suffix", std::string("\xFF\xD8\xFF\xE0", 4) + std::string(40, 'x')));
  fs::create_directory_symlink(folder.path(""), folder.path("b/circle"));
  EXPECT_EQ(list_pictures(folder.path("")),
            (Paths{folder.path("B.JPG"), folder.path("b/deep/a.jpeg"), folder.path("no_suffix"),
                   folder.path("z.png")}));
  EXPECT_EQ(list_pictures(folder.path("a.txt")), Paths{folder.path("a.txt")})
      << "named by a person";
}

TEST(ListPictures, ABrokenLinkIsListedSoThatReadingSaysWhatIsWrong) {
  const TempFolder folder;
  fs::create_symlink("gone.png", folder.path("a.png"));
  fs::create_symlink("b.jpg", folder.path("b.jpg"));
  fs::create_symlink("gone", folder.path("c"));
  EXPECT_EQ(list_pictures(folder.path("")), (Paths{folder.path("a.png"), folder.path("b.jpg")}));
  const PictureFiles files(list_pictures(folder.path("")), {2, 2});
  std::vector<std::uint8_t> picture(12);
  files.read(0, picture.data());
  EXPECT_NE(files.problem(0).find("No such file"), std::string::npos) << files.problem(0);
  files.read(1, picture.data());
  EXPECT_NE(files.problem(1).find("symbolic links"), std::string::npos) << files.problem(1);
}

TEST(PictureFilesTest, APipeIsNotWaitedFor) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo(folder.path("pipe.png").c_str(), 0600), 0);
  const PictureFiles files({folder.path("pipe.png")}, {2, 2});
  std::vector<std::uint8_t> picture(12);
  files.read(0, picture.data());
  EXPECT_NE(files.problem(0).find("not a regular file"), std::string::npos) << files.problem(0);
}

TEST(ListPictures, NothingIsAnError) {
  const TempFolder folder;
  EXPECT_THROW((void)list_pictures(folder.path("")), UsageError);
  EXPECT_THROW((void)list_pictures(folder.path("nowhere")), UsageError);
}

TEST(PictureFilesTest, WhatCannotBeReadIsBlackAndNoted) {
  const TempFolder folder;
  const std::string bad = folder.write("bad.png", "no picture");
  const PictureFiles files({bad, folder.path("missing.jpg")}, {4, 3});
  EXPECT_EQ(files.size(), 2);
  EXPECT_EQ(files.sample_bytes(), 36);
  EXPECT_EQ(files.labels(), (std::vector<std::int32_t>{-1, -1}));
  std::vector<std::uint8_t> picture(36, 7);
  EXPECT_EQ(files.problem(0), "") << "not read yet";
  files.read(0, picture.data());
  EXPECT_EQ(picture, std::vector<std::uint8_t>(36, 0));
  EXPECT_NE(files.problem(0).find(bad), std::string::npos) << files.problem(0);
  files.read(1, picture.data());
  EXPECT_NE(files.problem(1).find("missing.jpg"), std::string::npos) << files.problem(1);
}

}  // namespace
}  // namespace lockstep::data
