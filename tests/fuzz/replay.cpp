// SPDX-License-Identifier: Apache-2.0
//
//   TARGET FILE_OR_FOLDER...    gives each file to the target once; what `make test` does with the corpus
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "fuzz/fuzz.h"

namespace {

namespace fs = std::filesystem;

void replay(const fs::path& file) {
  std::printf("%s\n", file.c_str());
  std::fflush(stdout);  // names the input of a crash
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) files.emplace_back(argv[i]);
    else std::copy(fs::directory_iterator(argv[i]), {}, std::back_inserter(files));
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) replay(file);
  std::printf("%zu inputs\n", files.size());
  return files.empty() ? 1 : 0;
}
