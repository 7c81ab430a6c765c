// SPDX-License-Identifier: Apache-2.0
#include "lab/vision/images.h"

namespace trasmuon::lab {

std::unique_ptr<Images> open_images(const VisionSettings& settings) {
  return reads_files(settings) ? open_image_folder(settings) : open_image_set(settings);
}

}  // namespace trasmuon::lab
