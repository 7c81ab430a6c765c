// SPDX-License-Identifier: Apache-2.0
#include "lab/data/images/image_set.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "lab/data/gzip.h"
#include "lab/data/images/cifar.h"
#include "lab/data/images/idx.h"
#include "support/error_of.h"
#include "support/temporary_directory.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// A record of CIFAR: labels, then a plane of each of three values.
std::string record(const std::string& labels, char red, char green, char blue) {
  return labels + std::string(1024, red) + std::string(1024, green) + std::string(1024, blue);
}

std::string idx_header(std::initializer_list<int> numbers) {
  std::string header;
  for (const int number : numbers) {
    for (const int shift : {24, 16, 8, 0}) header += static_cast<char>(number >> shift);
  }
  return header;
}

TEST(Cifar, UsesTheFineLabel) {
  ImageSet set;
  append_cifar(bytes_of(record("\x05\x63", 1, 2, 3) + record("\x05\x07", 4, 5, 6)), "x.bin", kCifar100, 2, set);
  append_cifar(bytes_of(record("\x01\x02", 7, 8, 9)), "y.bin", kCifar100, 0, set);
  ASSERT_EQ(set.count(), 3);
  EXPECT_EQ(set.classes, 100);
  EXPECT_EQ(set.label(0), 99);
  EXPECT_EQ(set.label(1), 7);
  EXPECT_EQ(set.label(2), 2);
  ASSERT_EQ(set.image(1).size(), 3072u);
  EXPECT_EQ(set.image(1)[0], 4);
  EXPECT_EQ(set.image(1)[1024], 5);
  EXPECT_EQ(set.image(1)[3071], 6);
}

TEST(Cifar, RefusesWithTheFile) {
  const auto refused = [](const std::string& bytes, const CifarFormat& format, std::int64_t records) {
    ImageSet set;
    return test::error_of([&] { append_cifar(bytes_of(bytes), "x.bin", format, records, set); });
  };
  const std::string good = record("\x09", 1, 2, 3);
  EXPECT_EQ(refused(good, kCifar10, 1), "no error");
  EXPECT_EQ(refused(good + good.substr(0, 3072), kCifar10, 2),
            "x.bin: CIFAR-10 has 2 records of 3073 bytes, 6146 bytes; the file has 6145 bytes");
  EXPECT_EQ(refused(good, kCifar10, 2),
            "x.bin: CIFAR-10 has 2 records of 3073 bytes, 6146 bytes; the file has 3073 bytes");
  EXPECT_EQ(refused("", kCifar10, 0), "x.bin: CIFAR-10 has whole records of 3073 bytes; the file has 0 bytes");
  EXPECT_EQ(refused(good + record("\x0a", 1, 2, 3), kCifar10, 2),
            "x.bin: labels must be < 10, the label of record 1 is 10");
  EXPECT_EQ(refused(record("\xff\x64", 1, 2, 3), kCifar100, 1),
            "x.bin: labels must be < 100, the label of record 0 is 100");
}

TEST(Cifar, IsFoundInItsFolder) {
  const test::TemporaryDirectory directory;
  EXPECT_EQ(test::error_of([&] { read_image_set("cifar10", directory.path(), Split::train); }),
            "cannot read " + (directory / "data_batch_1.bin") + ": No such file or directory");
  const fs::path inner = directory / "cifar-100-binary";
  fs::create_directory(inner);
  test::write_file(inner / "test.bin", record("\x05\x63", 1, 2, 3));
  EXPECT_EQ(test::error_of([&] { read_image_set("cifar100", directory.path(), Split::test); }),
            (inner / "test.bin").string() +
                ": CIFAR-100 has 10000 records of 3074 bytes, 30740000 bytes; the file has 3074 bytes");
  fs::resize_file(inner / "test.bin", 30740000);  // zeros, which use no disk
  const ImageSet set = read_image_set("cifar100", directory.path(), Split::test);
  EXPECT_EQ(set.count(), 10000);
  EXPECT_EQ(set.label(0), 99);
  EXPECT_EQ(set.label(9999), 0);
}

TEST(Idx, IsRead) {
  const std::string images = idx_header({2051, 2, 2, 3}) + "abcdefghijkl", labels = idx_header({2049, 2}) + "\x09\x03";
  const ImageSet set = parse_idx(bytes_of(images), "i", bytes_of(labels), "l", 10);
  ASSERT_EQ(set.count(), 2);
  EXPECT_EQ(set.channels, 1);
  EXPECT_EQ(set.height, 2);
  EXPECT_EQ(set.width, 3);
  EXPECT_EQ(set.label(0), 9);
  EXPECT_EQ(std::string(set.image(1).begin(), set.image(1).end()), "ghijkl");
}

TEST(Idx, RefusesWithTheFile) {
  const std::string good_images = idx_header({2051, 2, 2, 3}) + "abcdefghijkl";
  const std::string good_labels = idx_header({2049, 2}) + "\x09\x03";
  const auto refused = [&](const std::string& images, const std::string& labels) {
    return test::error_of([&] { parse_idx(bytes_of(images), "i", bytes_of(labels), "l", 10); });
  };
  EXPECT_EQ(refused("", good_labels), "i: an IDX file begins with 16 bytes of header, this file has 0");
  EXPECT_EQ(refused(good_labels + "12345678", good_labels),
            "i: the IDX file must begin with the number 2051, got 2049");
  EXPECT_EQ(refused(good_images.substr(0, 27), good_labels),
            "i: the header says 2 x 2 x 3 bytes, the file has 11: it is truncated");
  EXPECT_EQ(refused(good_images + "m", good_labels), "i: the header says 2 x 2 x 3 bytes, the file has 13");
  EXPECT_EQ(refused(idx_header({2051, -1, -1, -1}), good_labels),
            "i: the header says 4294967295 x 4294967295 x 4294967295 bytes, the file has 0: it is truncated");
  EXPECT_EQ(refused(idx_header({2051, 0, 2, 3}), good_labels), "i: the header says size 0");
  EXPECT_EQ(refused(good_images, idx_header({2049, 3}) + "\x01\x02\x03"), "l has 3 labels, i has 2 images");
  EXPECT_EQ(refused(good_images, idx_header({2049, 2}) + "\x09\x0a"), "l: labels must be < 10, label 1 is 10");
}

TEST(FashionMnist, IsReadFromDebiansPackage) {
  if (!fs::is_directory(kFashionMnistFolder)) GTEST_SKIP() << "dataset-fashion-mnist is not installed";
  const ImageSet set = read_image_set("fashion-mnist", "", Split::test);
  ASSERT_EQ(set.count(), 10000);
  EXPECT_EQ(set.height, 28);
  std::vector<int> counts(10);
  for (std::int64_t i = 0; i < set.count(); ++i) ++counts[static_cast<std::size_t>(set.label(i))];
  EXPECT_EQ(counts, std::vector<int>(10, 1000));
  const ChannelStatistics statistics = channel_statistics(set);
  EXPECT_NEAR(statistics.mean[0], 0.2868,
              1e-3);  // the data set's published 0.2860 and 0.3530 are of the training images
  EXPECT_NEAR(statistics.deviation[0], 0.3524, 1e-3);
}

TEST(ImageSets, RefuseUnknownNames) {
  EXPECT_EQ(test::error_of([] { read_image_set("cifar-10", "x", Split::train); }),
            "there is no image set 'cifar-10'; did you mean 'cifar10'?");
  EXPECT_EQ(test::error_of([] { read_image_set("cifar10", "", Split::train); }),
            "the image set cifar10 needs the folder of its files");
}

TEST(ImageSets, StatisticsAreThoseOfEachChannel) {
  ImageSet set{.channels = 2, .height = 1, .width = 2, .classes = 2, .pixels = {0, 255, 51, 51, 255, 0, 51, 51}};
  set.labels = {0, 1};
  const ChannelStatistics statistics = channel_statistics(set);
  EXPECT_FLOAT_EQ(statistics.mean[0], 0.5F);
  EXPECT_FLOAT_EQ(statistics.deviation[0], 0.5F);
  EXPECT_FLOAT_EQ(statistics.mean[1], 0.2F);
  EXPECT_NEAR(statistics.deviation[1], 0, 1e-6);
}

TEST(Gzip, RefusesDamagedFiles) {
  const test::TemporaryDirectory directory;
  // `printf 'hello hello hello\n' | gzip -n`
  constexpr std::uint8_t kCompressed[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
                                          0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0x40, 0x90, 0x5c,
                                          0x00, 0x3b, 0x7c, 0x8a, 0xdf, 0x12, 0x00, 0x00, 0x00};
  const std::string compressed(std::begin(kCompressed), std::end(kCompressed));
  const auto read = [&](const std::string& bytes) {
    test::write_file(directory / "x.gz", bytes);
    const auto out = read_maybe_compressed(directory / "x.gz");
    return std::string(out.begin(), out.end());
  };
  EXPECT_EQ(read("plain"), "plain");
  EXPECT_EQ(read(""), "");
  EXPECT_EQ(read(compressed), "hello hello hello\n");
  EXPECT_EQ(read(compressed + compressed), "hello hello hello\nhello hello hello\n");
  for (std::size_t size = 2; size < compressed.size(); ++size) {
    EXPECT_EQ(test::error_of([&] { read(compressed.substr(0, size)); }),
              (directory / "x.gz") + ": the compressed data is truncated");
  }
  std::string damaged = compressed;
  damaged[damaged.size() - 6] ^= 1;
  EXPECT_EQ(test::error_of([&] { read(damaged); }),
            (directory / "x.gz") + ": the compressed data is damaged: incorrect data check");
}

}  // namespace
}  // namespace trasmuon::lab
