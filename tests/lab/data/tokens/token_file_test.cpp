// SPDX-License-Identifier: Apache-2.0
#include "lab/data/tokens/token_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "lab/data/tokens/token_support.h"
#include "support/error_of.h"
#include "support/temporary_directory.h"

namespace trasmuon::lab {
namespace {

class TokenFiles : public ::testing::Test {
 protected:
  /// The error of a file with these bytes, without its folder.
  std::string refused(const std::string& bytes, std::int64_t vocabulary = 1 << 20) {
    const std::string file = directory_ / "x.bin";
    test::write_file(file, bytes);
    const std::string error = test::error_of([&] { TokenFile(file).check_tokens(vocabulary); });
    return error.starts_with(file) ? error.substr(file.size() - 5) : error;
  }

  test::TemporaryDirectory directory_;
};

std::string with_number(std::string bytes, std::size_t index, std::int32_t value) {
  std::memcpy(bytes.data() + 4 * index, &value, sizeof value);
  return bytes;
}

TEST_F(TokenFiles, ReadBothFormats) {
  for (const std::int64_t vocabulary : {50257, 151643}) {
    const std::vector<std::int64_t> tokens = {5, 0, 50256, vocabulary - 1, 7};
    test::write_file(directory_ / "x.bin", test::token_file_bytes(tokens, vocabulary));
    const TokenFile file(directory_ / "x.bin");
    file.check_tokens(vocabulary);
    ASSERT_EQ(file.size(), 5);
    std::vector<std::int64_t> out(3);
    file.read(2, out);
    EXPECT_EQ(out, std::vector<std::int64_t>(tokens.begin() + 2, tokens.end()));
  }
}

TEST_F(TokenFiles, HeadersAreThoseOfLlmC) {  // dev/data/data_common.py there
  std::int32_t header[256];
  std::memcpy(header, token_header(77, 2).data(), sizeof header);
  EXPECT_EQ(header[0], 20240520);
  EXPECT_EQ(header[1], 1);
  EXPECT_EQ(header[2], 77);
  for (int i = 3; i < 256; ++i) EXPECT_EQ(header[i], 0);
  std::memcpy(header, token_header(77, 4).data(), sizeof header);
  EXPECT_EQ(header[0], 20240801);
  EXPECT_EQ(header[1], 7);
  EXPECT_EQ(token_bytes(65536), 2);
  EXPECT_EQ(token_bytes(65537), 4);
}

TEST_F(TokenFiles, RefuseBadHeaders) {
  const std::string good = test::token_file_bytes({1, 2, 3}, 100);
  EXPECT_EQ(refused(good), "no error");
  EXPECT_EQ(refused(""), "x.bin: a token file begins with a header of 1024 bytes, this file has 0");
  EXPECT_EQ(refused(good.substr(0, 1023)),
            "x.bin: a token file begins with a header of 1024 bytes, this file has 1023");
  EXPECT_EQ(
      refused(with_number(good, 0, 20240521)),
      "x.bin: is not a token file: it must begin with 20240520 (16-bit tokens) or 20240801 (32-bit), got 20240521");
  EXPECT_EQ(refused(with_number(good, 1, 2)), "x.bin: the version of a token file with 16-bit tokens must be 1, got 2");
  EXPECT_EQ(refused(with_number(good, 2, 0).substr(0, 1024)),
            "x.bin: the number of tokens must be > 0, the header says 0");
  EXPECT_EQ(refused(with_number(good, 2, -1)), "x.bin: the number of tokens must be > 0, the header says -1");
}

TEST_F(TokenFiles, RefuseWrongSizes) {
  const std::string good = test::token_file_bytes({1, 2, 3}, 100);
  EXPECT_EQ(refused(good.substr(0, good.size() - 1)),
            "x.bin: with the 3 tokens of its header the file must have 1030 bytes, got 1029: it is truncated");
  EXPECT_EQ(refused(good + "x"), "x.bin: with the 3 tokens of its header the file must have 1030 bytes, got 1031");
  EXPECT_EQ(refused(with_number(good, 2, 2147483647)),
            "x.bin: with the 2147483647 tokens of its header the file must have 4294968318 bytes, got 1030: it is "
            "truncated");
}

TEST_F(TokenFiles, RefuseTokensOutsideTheVocabulary) {
  EXPECT_EQ(refused(test::token_file_bytes({1, 9, 10, 11}, 100), 10),
            "x.bin: tokens must be < 10, the size of the vocabulary; token 2 is 10");
  EXPECT_EQ(refused(test::token_file_bytes({1, 70000}, 100000), 65536),
            "x.bin: tokens must be < 65536, the size of the vocabulary; token 1 is 70000");
}

TEST_F(TokenFiles, RefuseWhatIsNoFile) {
  const auto error = [](const std::string& path) { return test::error_of([&] { TokenFile file(path); }); };
  EXPECT_EQ(error(directory_ / "none"), "cannot read " + (directory_ / "none") + ": No such file or directory");
  EXPECT_EQ(error(directory_.path()), "cannot read " + directory_.path() + ": it is a folder");
  EXPECT_EQ(error("/dev/zero"), "cannot read /dev/zero: it is not a regular file");
}

}  // namespace
}  // namespace trasmuon::lab
