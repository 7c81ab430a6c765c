// SPDX-License-Identifier: Apache-2.0
// The input is the class list of an image folder.
#include <set>

#include "fuzz/fuzz.h"
#include "lab/data/images/image_folder.h"
#include "trasmuon/error.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trasmuon;
  try {
    const std::vector<std::string> classes = lab::parse_class_list(fuzz::text_of(data, size), "classes.txt");
    fuzz::require(!classes.empty(), "a list has a class");
    fuzz::require(std::set(classes.begin(), classes.end()).size() == classes.size(), "classes are different");
    for (const std::string& name : classes) {
      fuzz::require(!name.empty() && name.find('/') == name.npos && name[0] != '.', "a class is a folder's name");
    }
  } catch (const Error&) {
  }
  return 0;
}
