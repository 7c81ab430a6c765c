// SPDX-License-Identifier: Apache-2.0
#include "lab/vision/data_check.h"

#include <trasmuon/error.h>

#include <string>

#include "lab/data/images/image_set.h"

namespace trasmuon::lab {

void check_images(const VisionSettings& settings) {
  if (!reads_files(settings)) {
    read_image_set(settings.data, settings.folder, Split::test);
    return;
  }
  read_vision_folder(settings, Split::train);
  read_vision_folder(settings, Split::test);
}

ImageFolder read_vision_folder(const VisionSettings& settings, Split split) {
  constexpr std::size_t kImagenet100Classes = 100;
  const bool imagenet = settings.data == "imagenet100";
  const ClassCounts counts = !imagenet ? ClassCounts{} : split == Split::train ? kImagenetTrain : kImagenetVal;
  ImageFolder images = read_image_folder(settings.folder, settings.class_list, split, counts);
  if (imagenet && images.classes.size() != kImagenet100Classes)
    throw Error(settings.class_list + ": must have 100 classes for data = imagenet100, got " +
                std::to_string(images.classes.size()));
  return images;
}

}  // namespace trasmuon::lab
