// SPDX-License-Identifier: Apache-2.0
#include "lab/data/images/image_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/error_of.h"
#include "support/temporary_directory.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

TEST(ClassList, KeepsTheOrderOfTheFile) {
  EXPECT_EQ(parse_class_list("n02\nn01\r\n\nn03 \n", "x"), (std::vector<std::string>{"n02", "n01", "n03"}));
}

TEST(ClassList, RefusesWithTheLine) {
  const auto refused = [](const std::string& text) { return test::error_of([&] { parse_class_list(text, "x"); }); };
  EXPECT_EQ(refused(""), "x: there is no class in it");
  EXPECT_EQ(refused("\n\n"), "x: there is no class in it");
  EXPECT_EQ(refused("n01\nn02\nn01"), "x:3: the class n01 appears twice");
  EXPECT_EQ(refused("n01 tench"), "x:1: a class must be one word, the name of its folder, got 'n01 tench'");
  EXPECT_EQ(refused("../a"), "x:1: a class must be one word, the name of its folder, got '../a'");
  EXPECT_EQ(refused(".."), "x:1: a class must be one word, the name of its folder, got '..'");
}

class ImageFolders : public ::testing::Test {
 protected:
  ImageFolders() {
    test::write_file(directory_ / "classes.txt", "n02\nn01\n");
    for (const char* file :
         {"train/n01/b.JPEG", "train/n01/a.jpg", "train/n02/c.png", "val/n01/d.JPEG", "val/n02/e.jpeg"})
      add(file);
  }
  void add(const std::string& file) {
    fs::create_directories(fs::path(directory_ / file).parent_path());
    test::write_file(directory_ / file, "");
  }
  ImageFolder read(Split split, const ClassCounts& counts = {}) {
    return read_image_folder(directory_.path(), directory_ / "classes.txt", split, counts);
  }
  std::string refused(Split split, const ClassCounts& counts = {}) {
    const std::string error = test::error_of([&] { read(split, counts); });
    const std::size_t line = error.find('\n');
    return line == error.npos ? error : error.substr(line);
  }

  test::TemporaryDirectory directory_;
};

TEST_F(ImageFolders, AreReadInTheOrderOfTheClassList) {
  const ImageFolder train = read(Split::train);
  EXPECT_EQ(train.labels, (std::vector<std::int64_t>{0, 1, 1}));
  std::vector<std::string> names;
  for (const fs::path& file : train.files) names.push_back(file.filename().string());
  EXPECT_EQ(names, (std::vector<std::string>{"c.png", "a.jpg", "b.JPEG"}));
  EXPECT_EQ(read(Split::test).count(), 2);
}

TEST_F(ImageFolders, AllThatIsWrongIsListed) {
  add("train/n03/x.JPEG");
  add("train/readme.txt");
  add("train/n01/thumbs.db");
  add("train/n01/deeper/x.JPEG");
  fs::remove_all(directory_ / "train/n02");
  EXPECT_EQ(refused(Split::train),
            "\n  n03 is no class of the list\n  readme.txt is no class of the list\n  the class n02 has no folder"
            "\n  n01/deeper is no .jpeg, .jpg or .png file\n  n01/thumbs.db is no .jpeg, .jpg or .png file");
}

TEST_F(ImageFolders, CountsAreChecked) {
  EXPECT_EQ(refused(Split::train, {.least = 2, .most = 2}), "\n  the class n02 must have at least 2 images, got 1");
  EXPECT_EQ(refused(Split::train, {.least = 1, .most = 1}), "\n  the class n01 must have at most 1 images, got 2");
  EXPECT_EQ(
      refused(Split::test, kImagenetVal),
      "\n  the class n02 must have at least 50 images, got 1\n  the class n01 must have at least 50 images, got 1");
}

TEST_F(ImageFolders, LongListsAreCut) {
  for (int i = 0; i < 25; ++i) add("train/x" + std::to_string(i) + "/a.jpg");
  const std::string error = refused(Split::train);
  EXPECT_TRUE(error.ends_with("\n  and 5 more")) << error;
}

TEST_F(ImageFolders, MissingFoldersAreNamed) {
  fs::remove_all(directory_ / "val");
  EXPECT_EQ(refused(Split::test), "cannot read the folder " + (directory_ / "val") + ": No such file or directory");
}

}  // namespace
}  // namespace trasmuon::lab
