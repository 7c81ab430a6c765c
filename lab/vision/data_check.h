// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/data/images/image_folder.h"
#include "lab/vision/settings.h"

namespace trasmuon::lab {

/// Throws Error with file, folder or package if the images of the settings are missing, before hours are spent. Of
/// small sets it reads the test images, of folders the names of all files.
void check_images(const VisionSettings& settings);

/// Reads the names of the files of a split. For imagenet100 there must be 100 classes, each with as many images as
/// ILSVRC-2012 has.
ImageFolder read_vision_folder(const VisionSettings& settings, Split split);

}  // namespace trasmuon::lab
