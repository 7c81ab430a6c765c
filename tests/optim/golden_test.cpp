// SPDX-License-Identifier: Apache-2.0
#include "support/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace trasmuon::test {
namespace {

std::vector<std::string> golden_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TRASMUON_GOLDEN_DIR)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, AgreesInDouble) {
  const Deviation deviation = replay_golden(GetParam(), DType::f64);
  EXPECT_GT(deviation.compared, 0);
  EXPECT_LE(deviation.worst, golden_tolerance(DType::f64)) << deviation.where;
}

TEST_P(Golden, AgreesInFloat) {
  const Deviation deviation = replay_golden(GetParam(), DType::f32);
  EXPECT_GT(deviation.compared, 0);
  EXPECT_LE(deviation.worst, golden_tolerance(DType::f32)) << deviation.where;
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(golden_files()), [](const auto& file) {
  std::string name = std::filesystem::path(file.param).stem().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

TEST(Golden, AllFilesArePresent) { EXPECT_EQ(golden_files().size(), 24u); }

TEST(Golden, AWrongVectorIsNoticed) {
  // The replay must be able to fail: change one weight of one file by one part in 10^6.
  std::ifstream in(std::string(TRASMUON_GOLDEN_DIR) + "/one_1x1.json");
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto at = text.find("0.5427938674069072");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 10, "0.54279441");
  const std::string path = testing::TempDir() + "/wrong.json";
  std::ofstream(path) << text;
  EXPECT_GT(replay_golden(path, DType::f64).worst, 1e-7);
}

}  // namespace
}  // namespace trasmuon::test
