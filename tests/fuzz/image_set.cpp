// SPDX-License-Identifier: Apache-2.0
// The input is "I", an IDX file of images, "----" and one of labels; or a file of CIFAR-10 ("C") or CIFAR-100 ("D").
#include "lab/data/images/image_set.h"

#include "fuzz/fuzz.h"
#include "lab/data/images/cifar.h"
#include "lab/data/images/idx.h"
#include "trasmuon/error.h"

namespace {

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trasmuon;
  if (size == 0) return 0;
  const std::string_view rest = fuzz::text_of(data, size).substr(1);
  try {
    lab::ImageSet set;
    if (data[0] == 'I') {
      const std::vector<std::string_view> files = fuzz::split(rest, "----");
      set = lab::parse_idx(bytes_of(files.front()), "images", bytes_of(files.back()), "labels", 10);
    } else {
      lab::append_cifar(bytes_of(rest), "x.bin", data[0] == 'C' ? lab::kCifar10 : lab::kCifar100, 0, set);
    }
    fuzz::require(set.count() > 0, "a set has an image");
    fuzz::require(set.pixels.size() == set.labels.size() * set.image_bytes(), "every image has its pixels");
    for (std::int64_t i = 0; i < set.count(); ++i) fuzz::require(set.label(i) < set.classes, "labels are classes");
    lab::channel_statistics(set);
  } catch (const Error&) {
  }
  return 0;
}
