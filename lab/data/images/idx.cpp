// SPDX-License-Identifier: Apache-2.0
#include "lab/data/images/idx.h"

#include <fmt/format.h>
#include <trasmuon/error.h>

#include <algorithm>
#include <array>
#include <string>

#include "lab/data/gzip.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

/// Checks magic number and size of a file with `Dimensions` sizes; returns these.
template <int Dimensions>
std::array<std::int64_t, Dimensions> sizes_of(std::span<const std::uint8_t> file, const fs::path& name) {
  constexpr std::int64_t kMagic = 2048 + Dimensions, kHeader = 4 * (1 + Dimensions);
  const auto bytes = static_cast<std::int64_t>(file.size());
  if (bytes < kHeader) {
    throw Error(
        fmt::format("{}: an IDX file begins with {} bytes of header, this file has {}", name.string(), kHeader, bytes));
  }
  const auto number = [&](std::size_t i) {
    return std::int64_t{file[4 * i]} << 24 | file[4 * i + 1] << 16 | file[4 * i + 2] << 8 | file[4 * i + 3];
  };
  if (number(0) != kMagic) {
    throw Error(
        fmt::format("{}: the IDX file must begin with the number {}, got {}", name.string(), kMagic, number(0)));
  }
  std::array<std::int64_t, Dimensions> sizes;
  std::int64_t expected = 1;
  for (std::size_t i = 0; i < Dimensions; ++i) {
    sizes[i] = number(i + 1);
    if (sizes[i] == 0) throw Error(fmt::format("{}: the header says size 0", name.string()));
    expected = std::min(expected * sizes[i], std::int64_t{1} << 31);  // more than a file may have; never overflows
  }
  if (bytes - kHeader != expected) {
    std::string shape = std::to_string(sizes[0]);
    for (std::size_t i = 1; i < Dimensions; ++i) shape += fmt::format(" x {}", sizes[i]);
    throw Error(fmt::format("{}: the header says {} bytes, the file has {}{}", name.string(), shape, bytes - kHeader,
                            bytes - kHeader < expected ? ": it is truncated" : ""));
  }
  return sizes;
}

fs::path existing(const fs::path& folder, const std::string& name) {
  std::error_code error;
  const fs::path compressed = folder / (name + ".gz");
  return fs::exists(compressed, error) ? compressed : folder / name;
}

}  // namespace

ImageSet parse_idx(std::span<const std::uint8_t> images, const fs::path& images_name,
                   std::span<const std::uint8_t> labels, const fs::path& labels_name, std::int64_t classes) {
  const auto image_sizes = sizes_of<3>(images, images_name);
  const auto [count] = sizes_of<1>(labels, labels_name);
  if (count != image_sizes[0]) {
    throw Error(fmt::format("{} has {} labels, {} has {} images", labels_name.string(), count, images_name.string(),
                            image_sizes[0]));
  }
  const auto label_bytes = labels.last(static_cast<std::size_t>(count));
  const auto bad = std::find_if(label_bytes.begin(), label_bytes.end(), [&](auto label) { return label >= classes; });
  if (bad != label_bytes.end()) {
    throw Error(fmt::format("{}: labels must be < {}, label {} is {}", labels_name.string(), classes,
                            bad - label_bytes.begin(), *bad));
  }
  ImageSet set{.channels = 1, .height = image_sizes[1], .width = image_sizes[2], .classes = classes};
  set.labels.assign(label_bytes.begin(), label_bytes.end());
  const auto pixels = images.last(set.labels.size() * set.image_bytes());
  set.pixels.assign(pixels.begin(), pixels.end());
  return set;
}

ImageSet read_idx(const fs::path& folder, Split split) {
  const std::string prefix = split == Split::train ? "train" : "t10k";
  const fs::path images = existing(folder, prefix + "-images-idx3-ubyte");
  const fs::path labels = existing(folder, prefix + "-labels-idx1-ubyte");
  return parse_idx(read_maybe_compressed(images), images, read_maybe_compressed(labels), labels, 10);
}

}  // namespace trasmuon::lab
