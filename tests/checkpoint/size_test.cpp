// SPDX-License-Identifier: Apache-2.0
// Many parameters, and headers made to be expensive. Each test takes a second or two; where the time grows with the
// square of the size, as it once did, it takes minutes and meets its timeout.
#include <gtest/gtest.h>

#include <functional>

#include "checkpoint/counted_memory.h"
#include "checkpoint/file_image.h"
#include "checkpoint/models.h"
#include "support/temporary_directory.h"

namespace trasmuon::test {
namespace {

constexpr std::size_t kHeaderBytes = 20'000'000;

/// Repeats text(0), text(1), ... up to kHeaderBytes, with commas between them.
template <class Text>
std::string listed(Text text) {
  std::string all = text(0);
  for (std::size_t i = 1; all.size() < kHeaderBytes; ++i) all += "," + std::string(text(i));
  return all;
}

std::string tensor(std::size_t i) {
  return '"' + std::to_string(i) + R"(":{"dtype":"F32","shape":[],"data_offsets":[0,0]})";
}

/// A header that is sound but for this part of its metadata.
std::string with_part(const char* key, const std::string& text, const std::string& file) {
  FileImage image = FileImage::parse(file);
  image.header["__metadata__"][key] = text;
  return image.sealed();
}

TEST(CheckpointSize, TwentyThousandParameters) {
  const TemporaryDirectory directory;
  Group group{AdamWOptions{}, {}};
  for (int i = 0; i < 20'000; ++i) {
    group.parameters.push_back({.name = "bias." + std::to_string(i), .weight = {.dtype = DType::f32, .shape = {2}}});
  }
  Model model({group});
  save_checkpoint(model.optimizer(), directory / "run");
  load_checkpoint(model.optimizer(), directory / "run");
  EXPECT_EQ(model.optimizer().index_of("bias.19999"), 19'999u);
}

class HostileHeader : public testing::TestWithParam<int> {};

TEST_P(HostileHeader, TakesTimeAndMemoryInProportionToItsSize) {
  const TemporaryDirectory directory;
  const std::string path = directory / "run";
  Model model(tiny());
  save_checkpoint(model.optimizer(), path);
  const std::string sound = read_file(path);
  const auto number = [](std::size_t i) { return '"' + std::to_string(i) + '"'; };
  const std::vector<std::function<std::string()>> files = {
      [&] { return join(std::string(kHeaderBytes, '['), ""); },
      [&] { return join(R"({"__metadata__":)" + std::string(kHeaderBytes, '['), ""); },
      [&] { return join(R"({"a":)" + listed([](std::size_t) { return R"({"a":)"; }), ""); },
      [&] { return join("[" + listed([](std::size_t) { return "{}"; }) + "]", ""); },
      [&] { return join("{" + listed(tensor) + "}", ""); },
      [&] { return join(R"({"a":{"dtype":"F32","shape":[)" + listed([](std::size_t) { return "1"; }) + "]}}", ""); },
      [&] {
        return join(R"({"__metadata__":{)" + listed([&](std::size_t i) { return number(i) + ":\"\""; }) + "}}", "");
      },
      [&] { return with_part("trasmuon_groups", std::string(kHeaderBytes, '['), sound); },
      [&] {
        return with_part("trasmuon_groups",
                         "[" + listed([](std::size_t) { return R"({"rule":"","fields":{}})"; }) + "]", sound);
      },
      [&] {
        return with_part(
            "trasmuon_groups",
            R"([{"rule":"","fields":{)" + listed([&](std::size_t i) { return number(i) + ":\"\""; }) + "}}]", sound);
      },
      [&] {
        return with_part(
            "trasmuon_parameters",
            "{" + listed([&](std::size_t i) {
              return number(i) + R"(:{"dtype":"","group":0,"layout":"","row_blocks":[],"shape":[],"transposed":false})";
            }) + "}",
            sound);
      },
      [&] {
        return with_part("trasmuon_parameters",
                         R"({"a":{"row_blocks":[)" + listed([](std::size_t) { return "1"; }) + "]}}", sound);
      },
      [&] {
        return with_part("trasmuon_checksums", "{" + listed([&](std::size_t i) { return number(i) + ":\"\""; }) + "}",
                         sound);
      },
  };
  write_file(path, files.at(static_cast<std::size_t>(GetParam()))());
  const std::size_t before = live_bytes();
  reset_peak();
  EXPECT_THROW(load_checkpoint(model.optimizer(), path), Error);
  EXPECT_LT(peak_bytes() - before, 10 * kHeaderBytes);
  RecordProperty("times_the_header", std::to_string(static_cast<double>(peak_bytes() - before) / kHeaderBytes));
}

INSTANTIATE_TEST_SUITE_P(All, HostileHeader, testing::Range(0, 13));

}  // namespace
}  // namespace trasmuon::test
