#include "lib/places.hpp"

#include <gtest/gtest.h>

#include "lockstep/base/check.hpp"
#include "temp_folder.hpp"

namespace lockstep::tools {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

Names names_below(const TempFolder& root, Names folders) {
  for (std::string& folder : folders) {
    fs::create_directories(root / folder);
    folder = root / folder;
  }
  return name_folders(folders);
}

TEST(Places, FoldersAreNamedByAsMuchAsTellsThemApart) {
  const TempFolder root;
  EXPECT_EQ(names_below(root, {"a/photos"}), (Names{""}));
  EXPECT_EQ(names_below(root, {"a", "b"}), (Names{"a/", "b/"}));
  EXPECT_EQ(names_below(root, {"a/photos/", "b/photos"}), (Names{"a/photos/", "b/photos/"}));
  EXPECT_EQ(names_below(root, {"c/x/y", "d/x/y", "c/e/z"}), (Names{"c/x/y/", "d/x/y/", "c/e/z/"}));
}

TEST(Places, NoNameBeginsAsAnother) {
  // With two components each, a/b/1.png could be a file of the first or of the second folder.
  EXPECT_EQ(name_folders({"/a-place", "/z/a-place/b", "/q/b"}),
            (Names{"a-place/", "z/a-place/b/", "q/b/"}));
}

TEST(Places, FoldersWithinEachOtherAreRefused) {
  const TempFolder root;
  EXPECT_THROW((void)names_below(root, {"a", "a"}), UsageError);
  EXPECT_THROW((void)names_below(root, {"a", "a/"}), UsageError);
  EXPECT_THROW((void)names_below(root, {"a", "./a"}), UsageError);
  EXPECT_THROW((void)names_below(root, {"a", "a/b"}), UsageError);
  EXPECT_THROW((void)names_below(root, {"a/b", "c", "a"}), UsageError);
  fs::create_directory_symlink(root / "a", root / "link");
  EXPECT_THROW((void)name_folders({root / "a", root / "link"}), UsageError);
  EXPECT_THROW((void)name_folders({root / "link/b", root / "a"}), UsageError);
  EXPECT_EQ(names_below(root, {"a", "ab"}), (Names{"a/", "ab/"}));
}

TEST(Places, AnOutputInItsInputIsRefused) {
  const TempFolder root;
  fs::create_directories(root / "in/cat");
  fs::create_directory_symlink(root / "in", root / "link");
  for (const char* output : {"in", "in/", "in/out", "in/cat/deep/er", "link/out", "x/../in/out"}) {
    EXPECT_THROW(check_outside({root / "other", root / "in"}, root / output, "IN"), UsageError)
        << output;
  }
  for (const char* output : {"out", "in2", "other"}) {
    EXPECT_NO_THROW(check_outside({root / "in"}, root / output, "IN")) << output;
  }
}

}  // namespace
}  // namespace lockstep::tools
