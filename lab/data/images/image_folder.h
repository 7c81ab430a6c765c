// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "lab/data/images/image_set.h"

namespace trasmuon::lab {

/// The classes of a list with one name per line, for example ImageNet's synsets: a class's index is its place in the
/// list. Throws Error with `name` and the line if a line is not one word, a class appears twice, or there is none.
std::vector<std::string> parse_class_list(std::string_view text, const std::string& name);

/// How many images a class may have.
struct ClassCounts {
  std::int64_t least = 1, most = std::numeric_limits<std::int64_t>::max();
};
/// Those of ILSVRC-2012, of which ImageNet-100 has 100 classes.
constexpr ClassCounts kImagenetTrain{732, 1300}, kImagenetVal{50, 50};

/// Images in files: FOLDER/train/CLASS/*.JPEG and FOLDER/val/CLASS/*.JPEG.
struct ImageFolder {
  std::vector<std::string> classes;
  std::vector<std::filesystem::path> files;  ///< by class, then by name
  std::vector<std::int64_t> labels;          ///< index of the class, per file

  std::int64_t count() const { return static_cast<std::int64_t>(files.size()); }
};

/// Finds the images of a split (Split::test is val). Throws one Error that lists what is wrong: classes without a
/// folder or with too few or too many images, folders that are no class, files that are no .jpeg, .jpg or .png.
ImageFolder read_image_folder(const std::filesystem::path& folder, const std::filesystem::path& class_list, Split split,
                              const ClassCounts& counts = {});

}  // namespace trasmuon::lab
