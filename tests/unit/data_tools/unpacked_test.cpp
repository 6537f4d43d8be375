#include <gtest/gtest.h>

#include "lib/product.hpp"
#include "lib/staging.hpp"
#include "lib/unpacked_list.hpp"
#include "lockstep/base/check.hpp"
#include "temp_folder.hpp"

namespace lockstep::tools {
namespace {

namespace fs = std::filesystem;

void write_list(const TempFolder& root, const std::vector<std::string>& files) {
  fs::create_directories(root / "out");
  UnpackedListWriter list(root / "out", {});
  for (std::size_t i = 0; i < files.size(); ++i) {
    list.add(static_cast<std::int64_t>(i), 0, "cat", files[i], "a\xFF.jpg");
  }
  list.finish();
}

TEST(Unpacked, TheListSaysWhichFilesThereAre) {
  const TempFolder root;
  write_list(root, {"cat/1.png", "dog/2.png"});
  EXPECT_TRUE(has_unpacked_list(root / "out"));
  EXPECT_EQ(listed_files(root / "out"), (std::set<std::string>{"cat/1.png", "dog/2.png"}));
  EXPECT_FALSE(has_unpacked_list(root.path()));
  root.touch("other/samples.jsonl", "{\"format\": \"another\"}\n{\"file\": \"cat/1.png\"}\n");
  EXPECT_FALSE(has_unpacked_list(root / "other"));
  EXPECT_TRUE(listed_files(root / "other").empty());
}

TEST(Unpacked, NoListLeadsOutOfItsFolder) {
  for (const char* file :
       {"../mine.png", "/mine.png", "a/../../mine.png", "../a/mine.png", "mine.png", "a/b/mine.png",
        "a/mine.jpg", ".a/mine.png", "a/.mine.png", ""}) {
    const TempFolder root;
    write_list(root, {file});
    EXPECT_TRUE(listed_files(root / "out").empty()) << file;
  }
}

TEST(Unpacked, OnlyWhatTheListNamesIsReplacedOrRemoved) {
  const Product& product = unpacked_pictures();
  const TempFolder root;
  fs::create_directories(root / "empty");
  EXPECT_TRUE(product.holds_only(root / "empty"));
  root.touch("photos/cat/1.png");
  EXPECT_FALSE(product.holds_only(root / "photos")) << "pictures of somebody else";

  write_list(root, {"cat/1.png", "dog/2.png"});
  root.touch("out/cat/1.png");
  EXPECT_TRUE(product.holds_only(root / "out")) << "a listed picture may be missing";
  for (const char* mine : {"out/notes.txt", "out/cat/notes.txt", "out/cat/2.png", "out/fox/1.png",
                           "out/cat/deep/1.png"}) {
    root.touch(mine);
    EXPECT_FALSE(product.holds_only(root / "out")) << mine;
    EXPECT_THROW(StagingFolder(root / "out", true, product), UsageError);
    fs::remove(root / mine);
    for (const char* folder : {"out/fox", "out/cat/deep"}) fs::remove(root / folder);
  }
  EXPECT_TRUE(product.holds_only(root / "out"));

  root.touch("out/dog/mine.png");
  root.touch("out/dog/2.png");
  EXPECT_FALSE(product.remove(root / "out"));
  EXPECT_TRUE(fs::exists(root / "out/dog/mine.png"));
  EXPECT_TRUE(fs::exists(root / "out/samples.jsonl")) << "as long as something is left";
  EXPECT_FALSE(fs::exists(root / "out/dog/2.png"));
  EXPECT_FALSE(fs::exists(root / "out/cat"));
  fs::remove(root / "out/dog/mine.png");
  EXPECT_TRUE(product.remove(root / "out"));
}

TEST(Unpacked, LinksAreNotFollowed) {
  const Product& product = unpacked_pictures();
  const TempFolder root;
  write_list(root, {"cat/1.png"});
  root.touch("elsewhere/1.png", "mine");
  fs::create_directory_symlink(root / "elsewhere", root / "out/cat");
  EXPECT_FALSE(product.holds_only(root / "out"));
  EXPECT_FALSE(product.remove(root / "out"));
  EXPECT_TRUE(fs::exists(root / "elsewhere/1.png"));
  EXPECT_FALSE(product.holds_only(root / "out/cat")) << "a link is no folder";
}

TEST(Unpacked, AnUnfinishedFolderGoes) {
  const Product& product = unpacked_pictures();
  const TempFolder root;
  write_list(root, {"cat/1.png", "dog/2.png", "dog/3.png"});
  root.touch("out/cat/1.png");
  root.touch("out/dog/2.png");
  EXPECT_TRUE(product.remove(root / "out"));
  EXPECT_FALSE(fs::exists(root / "out"));
}

}  // namespace
}  // namespace lockstep::tools
