// SPDX-License-Identifier: Apache-2.0
// The input is a vocabulary, "\n====\n", merges, "\n====\n" and a word. What the words of a vocabulary that is taken
// become, reads back as it was.
#include "fuzz/fuzz.h"
#include "lab/data/text/byte_pairs.h"
#include "support/temporary_directory.h"
#include "trasmuon/error.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trasmuon;
  static const test::TemporaryDirectory directory;
  const std::vector<std::string_view> parts = fuzz::split(fuzz::text_of(data, size), "\n====\n");
  if (parts.size() < 3) return 0;
  test::write_file(directory / "vocab.json", std::string(parts[0]));
  test::write_file(directory / "merges.txt", std::string(parts[1]));
  try {
    const lab::BytePairs pairs(directory / "vocab.json", directory / "merges.txt");
    std::vector<std::uint32_t> tokens;
    pairs.encode_word(parts[2], tokens);
    std::string word;
    for (const std::uint32_t token : tokens) word += pairs.bytes(token);
    fuzz::require(word == parts[2], "a word reads back as it was");
  } catch (const Error&) {
  }
  return 0;
}
