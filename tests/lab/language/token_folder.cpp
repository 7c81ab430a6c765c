// SPDX-License-Identifier: Apache-2.0
#include "token_folder.h"

#include "lab/data/tokens/token_file.h"
#include "lab/study/random.h"

namespace trasmuon::lab {

void write_tokens(const test::TemporaryDirectory& folder) {
  for (const char* split : {"train", "val"}) {
    Random random(split[0]);
    std::string bytes;
    std::int64_t count = 0;
    while (count < 20000) {
      for (const char c : std::string(random.below(2) == 0 ? "spam " : "egg ")) {
        bytes += c;
        bytes += '\0';
        ++count;
      }
    }
    test::write_file(folder / (std::string(split) + "_0.bin"), token_header(count, 2) + bytes);
  }
}

}  // namespace trasmuon::lab
