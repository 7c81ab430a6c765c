// SPDX-License-Identifier: Apache-2.0
// The file by the safetensors specification, read without the library's own reader.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "checkpoint/file_image.h"
#include "checkpoint/models.h"
#include "support/temporary_directory.h"

namespace trasmuon::test {
namespace {

using nlohmann::json;

class CheckpointFormat : public testing::Test {
 protected:
  CheckpointFormat() : model_(every_rule()) {
    model_.train(0, 6);
    save_checkpoint(model_.optimizer(), directory_ / "run");
    file_ = read_file(directory_ / "run");
    image_ = FileImage::parse(file_);
    tensors_ = image_.header;
    tensors_.erase("__metadata__");
  }

  TemporaryDirectory directory_;
  Model model_;
  std::string file_;
  FileImage image_;
  json tensors_;
};

TEST_F(CheckpointFormat, HeaderIsAnObjectPaddedWithBlanksToEightBytes) {
  const std::size_t length = file_.size() - 8 - image_.data.size();
  EXPECT_EQ(length % 8, 0u);
  const std::string text = file_.substr(8, length);
  EXPECT_EQ(text.front(), '{');
  const std::size_t end = text.find_last_not_of(' ');
  EXPECT_EQ(text[end], '}');
  EXPECT_LT(text.size() - 1 - end, 8u);
}

TEST_F(CheckpointFormat, MetadataMapsStringsToStrings) {
  for (const auto& [key, value] : image_.header.at("__metadata__").items()) EXPECT_TRUE(value.is_string()) << key;
}

TEST_F(CheckpointFormat, TensorsAreAlignedAndCoverTheDataInOrder) {
  const std::map<std::string, std::uint64_t> widths{{"F64", 8}, {"I64", 8}, {"F32", 4}, {"BF16", 2}};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  std::set<std::string> dtypes;
  for (const auto& [name, tensor] : tensors_.items()) {
    const std::string dtype = tensor.at("dtype");
    dtypes.insert(dtype);
    std::uint64_t bytes = widths.at(dtype);
    for (std::uint64_t size : tensor.at("shape")) bytes *= size;
    const std::uint64_t begin = tensor.at("data_offsets").at(0), end = tensor.at("data_offsets").at(1);
    EXPECT_EQ(end - begin, bytes) << name;
    EXPECT_EQ(begin % widths.at(dtype), 0u) << name;
    ranges.emplace_back(begin, end);
  }
  EXPECT_EQ(dtypes.size(), 4u);
  std::sort(ranges.begin(), ranges.end());
  std::uint64_t expected = 0;
  for (const auto& [begin, end] : ranges) {
    EXPECT_EQ(begin, expected);
    expected = end;
  }
  EXPECT_EQ(expected, image_.data.size());
}

TEST_F(CheckpointFormat, HoldsEveryStateTensorWithItsChecksum) {
  const Optimizer& optimizer = model_.optimizer();
  const json checksums = image_.part("trasmuon_checksums");
  std::size_t count = 0;
  for (std::size_t i = 0; i < optimizer.parameter_count(); ++i) {
    for (const auto& [spec, view] : optimizer.state(i)) {
      const std::string name = optimizer.parameter(i).name + "/" + spec.name;
      ASSERT_TRUE(tensors_.contains(name)) << name;
      EXPECT_EQ(tensors_[name]["shape"], json(spec.shape.dims())) << name;
      const std::uint64_t begin = tensors_[name]["data_offsets"][0], end = tensors_[name]["data_offsets"][1];
      const std::string bytes = image_.data.substr(begin, end - begin);
      EXPECT_EQ(std::memcmp(bytes.data(), view.data, bytes.size()), 0) << name;
      EXPECT_EQ(checksums.at(name), slow_crc32(bytes)) << name;
      ++count;
    }
  }
  EXPECT_EQ(tensors_.size(), count);
  EXPECT_TRUE(tensors_.contains("proj/master"));
  EXPECT_FALSE(tensors_.contains("hidden/master"));
}

TEST_F(CheckpointFormat, MetadataTellsVersionsOptionsAndParameters) {
  const json& metadata = image_.header.at("__metadata__");
  EXPECT_EQ(metadata.at("trasmuon_format"), "1");
  EXPECT_EQ(metadata.at("trasmuon_version"), TRASMUON_VERSION);

  const json groups = image_.part("trasmuon_groups");
  std::vector<std::string> rules;
  for (const json& group : groups) rules.push_back(group.at("rule"));
  EXPECT_EQ(rules, (std::vector<std::string>{"trasmuon", "normuon", "muon", "dion", "adamw"}));
  EXPECT_EQ(groups[4]["fields"], json::parse(R"({"lr":"0.001","weight_decay":"0.01","beta1":"0.9","beta2":"0.95",
                                                 "eps":"1e-08"})"));
  EXPECT_EQ(groups[0]["fields"]["gamma"], "lr");
  EXPECT_EQ(groups[0]["fields"]["clip"], "soft");

  const json parameters = image_.part("trasmuon_parameters");
  EXPECT_EQ(parameters.size(), model_.optimizer().parameter_count());
  EXPECT_EQ(
      parameters.at("proj"),
      json::parse(
          R"({"group":0,"dtype":"bf16","shape":[10,11],"layout":"automatic","transposed":true,"row_blocks":[]})"));
  EXPECT_EQ(parameters.at("qkv").at("row_blocks"), json({4, 4, 4}));
  EXPECT_EQ(parameters.at("embedding").at("group"), 4);
}

TEST_F(CheckpointFormat, EqualStateGivesAnEqualFile) {
  save_checkpoint(model_.optimizer(), directory_ / "again");
  EXPECT_EQ(read_file(directory_ / "again"), file_);
}

}  // namespace
}  // namespace trasmuon::test
