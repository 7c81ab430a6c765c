// SPDX-License-Identifier: Apache-2.0
// The input is a token file.
#include "lab/data/tokens/token_file.h"

#include <algorithm>

#include "fuzz/fuzz.h"
#include "support/temporary_directory.h"
#include "trasmuon/error.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trasmuon;
  static const test::TemporaryDirectory directory;
  constexpr std::int64_t kVocabulary = 1000;
  test::write_file(directory / "x.bin", std::string(fuzz::text_of(data, size)));
  try {
    const lab::TokenFile file(directory / "x.bin");
    file.check_tokens(kVocabulary);
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(file.size()));
    file.read(0, tokens);
    fuzz::require(
        std::all_of(tokens.begin(), tokens.end(), [](auto token) { return token >= 0 && token < kVocabulary; }),
        "checked tokens are in the vocabulary");
  } catch (const Error&) {
  }
  return 0;
}
