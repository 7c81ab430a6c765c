// SPDX-License-Identifier: Apache-2.0
#include "lab/data/images/image_set.h"

#include <fmt/format.h>
#include <trasmuon/error.h>

#include <algorithm>
#include <cmath>

#include "lab/data/images/cifar.h"
#include "lab/data/images/idx.h"
#include "lab/study/names.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

/// The folder of fashion-mnist if none is given.
fs::path debian_fashion_mnist() {
  std::error_code error;
  if (!fs::is_directory(kFashionMnistFolder, error)) {
    throw Error(
        fmt::format("Fashion-MNIST is not in {}; on Debian `apt-get install dataset-fashion-mnist` puts it there",
                    kFashionMnistFolder));
  }
  return kFashionMnistFolder;
}

}  // namespace

Image ImageSet::copy(std::int64_t i) const {
  Image result(static_cast<int>(channels), static_cast<int>(height), static_cast<int>(width));
  const auto from = image(i);
  std::copy(from.begin(), from.end(), result.pixels.begin());
  return result;
}

ImageSet read_image_set(const std::string& name, const fs::path& folder, Split split) {
  if (name == "fashion-mnist" && folder.empty()) return read_idx(debian_fashion_mnist(), split);
  const bool idx = name == "fashion-mnist" || name == "mnist";
  if (!idx && name != "cifar10" && name != "cifar100") {
    throw Error(fmt::format("there is no image set '{}'{}", name,
                            suggestion(name, {"cifar10", "cifar100", "fashion-mnist", "mnist"})));
  }
  if (folder.empty()) throw Error(fmt::format("the image set {} needs the folder of its files", name));
  if (idx) return read_idx(folder, split);
  return read_cifar(folder, name == "cifar10" ? kCifar10 : kCifar100, split);
}

ChannelStatistics channel_statistics(const ImageSet& set) {
  ChannelStatistics statistics;
  const auto plane = static_cast<std::size_t>(set.height * set.width);
  const double n = static_cast<double>(set.count()) * static_cast<double>(plane);
  for (std::int64_t channel = 0; channel < set.channels; ++channel) {
    std::uint64_t sum = 0, squares = 0;  // exact: 2^16 * 2^48 pixels fit
    for (std::int64_t i = 0; i < set.count(); ++i) {
      for (const std::uint8_t pixel : set.image(i).subspan(static_cast<std::size_t>(channel) * plane, plane)) {
        sum += pixel;
        squares += std::uint64_t{pixel} * pixel;
      }
    }
    const double mean = static_cast<double>(sum) / n;
    statistics.mean.push_back(static_cast<float>(mean / 255));
    statistics.deviation.push_back(static_cast<float>(std::sqrt(static_cast<double>(squares) / n - mean * mean) / 255));
  }
  return statistics;
}

}  // namespace trasmuon::lab
