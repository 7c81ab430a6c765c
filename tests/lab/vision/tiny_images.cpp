// SPDX-License-Identifier: Apache-2.0
#include "lab/vision/tiny_images.h"

#include <fstream>
#include <initializer_list>

#include "lab/study/random.h"

namespace trasmuon::lab {
namespace {

constexpr int kSide = 28, kClasses = 10;

void write_header(std::ofstream& file, std::initializer_list<std::uint32_t> numbers) {
  for (const std::uint32_t number : numbers)
    for (int shift = 24; shift >= 0; shift -= 8) file.put(static_cast<char>(number >> shift));
}

void write_split(const std::filesystem::path& folder, const std::string& name, int count, std::uint64_t seed) {
  std::ofstream images(folder / (name + "-images-idx3-ubyte"), std::ios::binary);
  std::ofstream labels(folder / (name + "-labels-idx1-ubyte"), std::ios::binary);
  write_header(images, {2051, static_cast<std::uint32_t>(count), kSide, kSide});
  write_header(labels, {2049, static_cast<std::uint32_t>(count)});
  Random random(seed);
  for (int i = 0; i < count; ++i) {
    const int label = i % kClasses;
    labels.put(static_cast<char>(label));
    for (int pixel = 0; pixel < kSide * kSide; ++pixel) {
      const bool bright = pixel * kClasses / (kSide * kSide) == label;
      images.put(static_cast<char>((bright ? 150 : 0) + random.below(100)));
    }
  }
}

}  // namespace

void write_tiny_mnist(const std::filesystem::path& folder, int training, int test) {
  write_split(folder, "train", training, 1);
  write_split(folder, "t10k", test, 2);
}

VisionSettings tiny_settings(const std::filesystem::path& folder) {
  VisionSettings settings;
  settings.data = "mnist";
  settings.folder = folder.string();
  settings.model = "vit-tiny";
  settings.layers = 1;
  settings.width = 16;
  settings.heads = 2;
  settings.training.batch = 20;
  settings.training.steps = 30;
  settings.training.eval_every = 15;
  return settings;
}

}  // namespace trasmuon::lab
