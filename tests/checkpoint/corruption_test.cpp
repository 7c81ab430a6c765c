// SPDX-License-Identifier: Apache-2.0
// Files with one error each. Their checksums are recomputed, so that these do not reveal the error.
#include <gtest/gtest.h>

#include <functional>

#include "checkpoint/expect_refused.h"
#include "checkpoint/file_image.h"
#include "checkpoint/models.h"
#include "support/temporary_directory.h"

namespace trasmuon::test {
namespace {

using nlohmann::json;

class CorruptCheckpoint : public testing::Test {
 protected:
  CorruptCheckpoint() : model_(tiny()) {
    model_.train(0, 4);
    save_checkpoint(model_.optimizer(), path_);
    image_ = FileImage::parse(read_file(path_));
    model_.train(4, 6);
  }

  void expect_file_refused(const std::string& bytes, const std::string& why) {
    write_file(path_, bytes);
    expect_refused(model_, path_, why);
  }
  void expect_refused_as(const std::string& why) { expect_file_refused(image_.sealed(), why); }
  json& metadata() { return image_.header["__metadata__"]; }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "run";
  Model model_;
  FileImage image_;
};

TEST_F(CorruptCheckpoint, UnchangedImageLoads) {
  write_file(path_, image_.sealed());
  EXPECT_NO_THROW(load_checkpoint(model_.optimizer(), path_));
}

TEST_F(CorruptCheckpoint, NotACheckpoint) {
  expect_refused(model_, directory_ / "missing", "cannot open: No such file or directory");
  expect_refused(model_, directory_.path(), "must be a regular file");
  expect_file_refused("", "file is truncated: it must have at least 8 bytes, got 0");
  expect_file_refused("1234567", "file is truncated: it must have at least 8 bytes, got 7");
  expect_file_refused("not a checkpoint at all", "header must be <= 100000000 bytes");
}

TEST_F(CorruptCheckpoint, HeaderLength) {
  std::string file = image_.sealed();
  file.replace(0, 8, std::string("\x01\xe1\xf5\x05\0\0\0\0", 8));  // 100,000,001
  expect_file_refused(file, "header must be <= 100000000 bytes, got 100000001");
  file.replace(0, 8, std::string("\0\xe1\xf5\x05\0\0\0\0", 8));
  expect_file_refused(file, "file is truncated: its header must have 100000000 bytes, got");
  file.replace(0, 8, std::string(8, '\xff'));
  expect_file_refused(file, "header must be <= 100000000 bytes, got 18446744073709551615");
  file.replace(0, 8, std::string(8, '\0'));
  expect_file_refused(file, "header is not valid JSON");
}

TEST_F(CorruptCheckpoint, HeaderText) {
  const std::string text = image_.header.dump();
  expect_file_refused(join(text.substr(1), image_.data), "header must be an object");
  expect_file_refused(join(text.substr(0, text.size() - 1), image_.data), "header is not valid JSON");
  expect_file_refused(join(text + "x", image_.data), "header is not valid JSON");
  expect_file_refused(join(text + '\0', image_.data), "header is not valid JSON: expected the end at byte");
  expect_file_refused(join("[]", image_.data), "header must be an object");
  expect_file_refused(join(std::string(100'000, '['), image_.data), "header must be an object");
}

TEST_F(CorruptCheckpoint, KeysTwice) {
  const std::string text = image_.header.dump();
  const std::string tensor = R"({"w/step":)" + image_.header["w/step"].dump() + ",";
  expect_file_refused(join(tensor + text.substr(1), image_.data), "header has the key 'w/step' twice");
  std::string inner = text;
  inner.replace(inner.find(R"({"data_offsets")"), 1, R"({"dtype":"F32",)");
  expect_file_refused(join(inner, image_.data), "header has the key 'dtype' twice");
  metadata()["trasmuon_groups"] = R"([{"rule":"muon","rule":"muon"}])";
  expect_refused_as("metadata 'trasmuon_groups' has the key 'rule' twice");
}

TEST_F(CorruptCheckpoint, ForeignFile) {
  image_.header.erase("__metadata__");
  expect_file_refused(join(image_.header.dump(), image_.data), "file is not a trasmuon checkpoint");
  metadata() = {{"format", "pt"}};
  expect_file_refused(join(image_.header.dump(), image_.data), "file is not a trasmuon checkpoint");
  expect_file_refused(join("{}", ""), "file is not a trasmuon checkpoint");
}

TEST_F(CorruptCheckpoint, FormatVersion) {
  metadata()["trasmuon_format"] = "2";
  metadata()["trasmuon_version"] = "9.8.7";
  expect_refused_as("format version must be 1, got 2: written by trasmuon 9.8.7");
}

TEST_F(CorruptCheckpoint, Metadata) {
  metadata()["comment"] = 1;
  expect_refused_as("header: __metadata__ 'comment' must be a string");
  metadata().erase("comment");
  for (int i = 0; i < 1000; ++i) metadata()["comment" + std::to_string(i)] = "";
  expect_refused_as("header: __metadata__ must have <= 1000 entries");
  metadata() = json::array();
  expect_file_refused(join(image_.header.dump(), image_.data), "header: __metadata__ must be an object");
}

TEST_F(CorruptCheckpoint, MetadataParts) {
  for (const char* key : {"trasmuon_groups", "trasmuon_parameters", "trasmuon_checksums"}) {
    const json before = metadata()[key];
    metadata().erase(key);
    expect_refused_as(std::string("metadata has no '") + key + "'");
    metadata()[key] = "";
    expect_refused_as(std::string("metadata '") + key + "' is not valid JSON");
    metadata()[key] = before.get<std::string>() + "}";
    expect_refused_as(std::string("metadata '") + key + "' is not valid JSON");
    metadata()[key] = "7";
    expect_refused_as(std::string("metadata '") + key + "' is malformed");
    metadata()[key] = before;
  }
}

TEST_F(CorruptCheckpoint, RecordsOfAnotherForm) {
  const json sound = image_.part("trasmuon_parameters");
  for (const char* key : {"group", "dtype", "shape", "layout", "transposed", "row_blocks"}) {
    json parameters = sound;
    parameters["w"][key] = nullptr;
    image_.set_part("trasmuon_parameters", parameters);
    expect_refused_as("metadata 'trasmuon_parameters' is malformed");
    parameters["w"].erase(key);
    image_.set_part("trasmuon_parameters", parameters);
    expect_refused_as("metadata 'trasmuon_parameters' is malformed");
  }
  json parameters = sound;
  parameters["w"]["unknown"] = 1;
  image_.set_part("trasmuon_parameters", parameters);
  expect_refused_as("metadata 'trasmuon_parameters' is malformed");
  image_.set_part("trasmuon_parameters", sound);
  image_.set_part("trasmuon_checksums", {{"w/e_ref", 7}});
  expect_refused_as("metadata 'trasmuon_checksums' is malformed");
}

TEST_F(CorruptCheckpoint, HeaderChecksum) {
  metadata()["comment"] = "added by hand";
  expect_file_refused(join(image_.header.dump(), image_.data), "header: checksum does not match");
  metadata().erase("trasmuon_header_checksum");
  expect_file_refused(join(image_.header.dump(), image_.data), "header: checksum does not match");
}

TEST_F(CorruptCheckpoint, TensorForm) {
  json& tensor = image_.header["w/e_ref"];
  const json sound = tensor;
  const std::string who = "header: tensor 'w/e_ref': ";
  const auto with = [&](const char* key, const json& value, const std::string& why) {
    tensor = sound;
    tensor[key] = value;
    expect_refused_as(who + why);
  };
  with("note", "", "must have dtype, shape and data_offsets and nothing else");
  with("dtype", 8, "dtype must be a string");
  with("shape", {-1}, "shape must be a list of whole numbers >= 0");
  with("shape", {1.0}, "shape must be a list of whole numbers >= 0");
  with("shape", 1, "shape must be a list of whole numbers >= 0");
  with("data_offsets", {0, 8, 8}, "data_offsets must be two whole numbers >= 0");
  with("data_offsets", {"0", "8"}, "data_offsets must be two whole numbers >= 0");
  tensor = 5;
  expect_refused_as(who + "must have dtype, shape and data_offsets and nothing else");
}

TEST_F(CorruptCheckpoint, MissingTensor) {
  // The last tensor of the data, so that no gap is left.
  json& last = image_.header["w/v_row"];
  ASSERT_EQ(last["data_offsets"][1], image_.data.size());
  image_.data.resize(last["data_offsets"][0].get<std::size_t>());
  image_.header.erase("w/v_row");
  expect_refused_as("tensor 'w/v_row': is missing from the file");
}

TEST_F(CorruptCheckpoint, ExtraTensor) {
  const std::size_t end = image_.data.size();
  image_.header["w/extra"] = {{"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {end, end + 4}}};
  image_.data += "abcd";
  expect_refused_as("tensor 'w/extra': is not in the optimizer");
}

TEST_F(CorruptCheckpoint, TensorDtypeAndShape) {
  image_.header["w/e_ref"]["dtype"] = "I64";
  expect_refused_as("tensor 'w/e_ref': dtype must be F64, got I64");
  image_.header["w/e_ref"]["dtype"] = "F8_E4M3";
  expect_refused_as("tensor 'w/e_ref': dtype must be F64, got F8_E4M3");
  image_.header["w/e_ref"]["dtype"] = "F64";
  image_.header["w/momentum"]["shape"] = {3, 2};
  expect_refused_as("tensor 'w/momentum': shape must be [2, 3], got [3, 2]");
  image_.header["w/momentum"]["shape"] = {2, 3, 1};
  expect_refused_as("tensor 'w/momentum': shape must be [2, 3], got [2, 3, 1]");
}

TEST_F(CorruptCheckpoint, Offsets) {
  json& offsets = image_.header["w/e_ref"]["data_offsets"];
  const json sound = offsets;
  const std::uint64_t begin = sound[0], end = sound[1];
  offsets = {end, begin};
  expect_refused_as("tensor 'w/e_ref': data_offsets [" + std::to_string(end) + ", " + std::to_string(begin) +
                    "] end before they begin");
  offsets = {begin - 8, end};
  expect_refused_as("overlap the previous tensor");
  offsets = {begin + 4, end};
  expect_refused_as("leave a gap after");
  offsets = sound;
  json& last = image_.header["w/v_row"]["data_offsets"];
  last[1] = 18446744073709551615u;
  expect_refused_as("tensor 'w/v_row': data_offsets [" + last[0].dump() +
                    ", 18446744073709551615] extend past the end");
}

TEST_F(CorruptCheckpoint, TensorOfAnotherSizeThanItsShape) {
  // Four bytes move from one tensor to its neighbour: still no gap.
  json &one = image_.header["w/momentum"]["data_offsets"], &next = image_.header["w/v_row"]["data_offsets"];
  ASSERT_EQ(one[1], next[0]);
  one[1] = next[0] = one[1].get<std::uint64_t>() - 4;
  expect_refused_as("tensor 'w/momentum': must have 24 bytes, got 20");
}

TEST_F(CorruptCheckpoint, BytesAfterTheLastTensor) {
  image_.data += "abc";
  expect_refused_as("file has 3 bytes after the last tensor");
}

TEST_F(CorruptCheckpoint, TensorChecksum) {
  image_.data[image_.header["w/c_ema"]["data_offsets"][0].get<std::size_t>()] ^= 1;
  expect_refused_as("tensor 'w/c_ema': checksum does not match: the file is damaged");
}

TEST_F(CorruptCheckpoint, TensorWithoutChecksum) {
  json checksums = image_.part("trasmuon_checksums");
  checksums.erase("w/c_ema");
  image_.set_part("trasmuon_checksums", checksums);
  expect_refused_as("tensor 'w/c_ema': has no checksum in the file");
}

}  // namespace
}  // namespace trasmuon::test
