// SPDX-License-Identifier: Apache-2.0
#include "lab/data/images/decode.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "lab/records/files.h"
#include "support/error_of.h"
#include "support/temporary_directory.h"

namespace trasmuon::lab {
namespace {

const std::string kImages = TRASMUON_IMAGES_DIR "/";

std::string refused(const std::string& bytes) {
  const std::span file(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return test::error_of([&] { decode_image(file, "x"); });
}

TEST(Decode, GivesThePixelsOfPillow) {
  const Json all = read_json(kImages + "pixels.json");
  for (const auto& [name, planes] : all.items()) {
    const Image image = read_image(kImages + name);
    ASSERT_EQ(image.channels, 3);
    ASSERT_EQ(image.height, 11);
    ASSERT_EQ(image.width, 19);
    // JPEG leaves the rounding to the decoder, and so does the conversion from CMYK.
    const int tolerance = name.ends_with(".png") ? 0 : 2;
    for (int channel = 0; channel < 3; ++channel) {
      for (std::size_t i = 0; i < image.plane_size(); ++i) {
        const int expected = planes[static_cast<std::size_t>(channel)][i];
        ASSERT_LE(std::abs(image.plane(channel)[i] - expected), tolerance) << name << " " << channel << " " << i;
      }
    }
  }
}

TEST(Decode, RefusesEveryTruncation) {
  for (const char* name : {"rgb.jpg", "progressive.jpg", "cmyk.jpg", "rgb.png", "palette.png"}) {
    const std::string file = test::read_file(kImages + name);
    // The last bytes of both formats only say that the file ends.
    const std::size_t needed = std::string(name).ends_with(".png") ? file.size() - 16 : file.size() - 2;
    for (std::size_t size = 0; size < needed; ++size) {
      const std::string error = refused(file.substr(0, size));
      ASSERT_TRUE(error.starts_with("x: ")) << name << " " << size << " " << error;
    }
    EXPECT_EQ(refused(file), "no error");
  }
}

TEST(Decode, SurvivesEveryDamagedByte) {
  for (const char* name : {"rgb.jpg", "progressive.jpg", "cmyk.jpg", "rgb.png"}) {
    std::string file = test::read_file(kImages + name);
    for (char& byte : file) {
      const char good = byte;
      for (const int change : {0x01, 0x80, 0xff}) {
        byte = static_cast<char>(good ^ change);
        refused(file);  // or not: a changed pixel is an image too
      }
      byte = good;
    }
  }
}

TEST(Decode, RefusesHugeImages) {
  for (const char* name : {"rgb.jpg", "rgb.png"}) {
    const std::string file = test::read_file(kImages + name);
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(file.data()), file.size());
    EXPECT_EQ(test::error_of([&] { decode_image(bytes, "x", 208); }),
              "x: an image must have at most 208 pixels, got 11 x 19");
    EXPECT_EQ(test::error_of([&] { decode_image(bytes, "x", 209); }), "no error");
  }
}

TEST(Decode, SaysWhatIsNoImage) {
  EXPECT_EQ(refused(""), "x: is neither a JPEG nor a PNG file");
  EXPECT_EQ(refused("GIF89a"), "x: is neither a JPEG nor a PNG file");
  EXPECT_EQ(test::error_of([] { read_image("/nowhere.jpg"); }), "cannot read /nowhere.jpg: No such file or directory");
}

}  // namespace
}  // namespace trasmuon::lab
