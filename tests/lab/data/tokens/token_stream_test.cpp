// SPDX-License-Identifier: Apache-2.0
#include "lab/data/tokens/token_stream.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "lab/data/tokens/token_support.h"
#include "support/error_of.h"
#include "support/temporary_directory.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

class TokenStreams : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::vector<std::int64_t>& tokens, std::int64_t vocabulary = 100) {
    test::write_file(directory_ / name, test::token_file_bytes(tokens, vocabulary));
    return directory_ / name;
  }
  std::vector<std::string> found(const std::string& where, const std::string& split = "train") {
    std::vector<std::string> names;
    for (const fs::path& file : token_files(where, split)) names.push_back(file.filename().string());
    return names;
  }

  test::TemporaryDirectory directory_;
};

TEST_F(TokenStreams, ReadAcrossFiles) {
  // Every range of ten tokens in files of 1, 4, 2 and 3 tokens; one of them with 32-bit tokens.
  const TokenStream stream(
      {write("a", {0}), write("b", {1, 2, 3, 4}), write("c", {5, 6}, 100000), write("d", {7, 8, 9})}, 100);
  ASSERT_EQ(stream.size(), 10);
  for (std::int64_t first = 0; first <= 10; ++first) {
    for (std::int64_t count = 0; first + count <= 10; ++count) {
      std::vector<std::int64_t> out(static_cast<std::size_t>(count), -1), expected(out);
      std::iota(expected.begin(), expected.end(), first);
      stream.read(first, out);
      EXPECT_EQ(out, expected) << first << " " << count;
    }
  }
}

TEST_F(TokenStreams, ReadFromMemory) {
  const TokenStream stream(std::vector<std::uint16_t>{3, 256, 5});
  std::vector<std::int64_t> out(2);
  stream.read(1, out);
  EXPECT_EQ(out, (std::vector<std::int64_t>{256, 5}));
}

TEST_F(TokenStreams, RefuseRangesOutside) {
  const TokenStream stream({write("a", {0, 1, 2})}, 100);
  std::vector<std::int64_t> out(2);
  EXPECT_EQ(test::error_of([&] { stream.read(2, out); }), "tokens 2 to 4 were asked for, there are 3");
  EXPECT_EQ(test::error_of([&] { stream.read(-1, out); }), "tokens -1 to 1 were asked for, there are 3");
}

TEST_F(TokenStreams, NameTheBadFile) {
  const std::string good = write("a", {1}), bad = write("b", {5, 100});
  EXPECT_EQ(test::error_of([&] {
              TokenStream({good, bad}, 100);
            }),
            bad + ": tokens must be < 100, the size of the vocabulary; token 1 is 100");
}

TEST_F(TokenStreams, AreFoundByFileFolderOrPattern) {
  for (const char* name : {"x_train_1.bin", "x_train_0.bin", "x_val_0.bin", "x_train_2.txt", "tiny[1].bin"})
    write(name, {1});
  EXPECT_EQ(found(directory_.path()), (std::vector<std::string>{"x_train_0.bin", "x_train_1.bin"}));
  EXPECT_EQ(found(directory_.path(), "val"), (std::vector<std::string>{"x_val_0.bin"}));
  EXPECT_EQ(found(directory_ / "x_*_0.bin"), (std::vector<std::string>{"x_train_0.bin", "x_val_0.bin"}));
  EXPECT_EQ(found(directory_ / "tiny[1].bin"), (std::vector<std::string>{"tiny[1].bin"}));
  const std::string odd = directory_ / "a[b]*";
  fs::create_directory(odd);
  write("a[b]*/train.bin", {1});
  EXPECT_EQ(found(odd), (std::vector<std::string>{"train.bin"}));
}

TEST_F(TokenStreams, RefuseWhatIsNotThere) {
  EXPECT_EQ(test::error_of([&] { token_files(directory_ / "no*.bin", "train"); }),
            "there is no token file " + (directory_ / "no*.bin"));
  EXPECT_EQ(test::error_of([&] { token_files(directory_.path(), "val"); }),
            "the folder " + directory_.path() + " has no token file *val*.bin");
}

}  // namespace
}  // namespace trasmuon::lab
