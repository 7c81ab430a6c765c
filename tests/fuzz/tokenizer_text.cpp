// SPDX-License-Identifier: Apache-2.0
// The input is a text for the tokenizers of tests/lab/data/text/tokenizer.
#include "fuzz/fuzz.h"
#include "lab/data/text/documents.h"
#include "lab/data/text/tokenizer.h"
#include "lab/data/text/unicode.h"
#include "trasmuon/error.h"

namespace {

using namespace trasmuon;

void check(lab::Tokenizer& tokenizer, std::string_view text, const std::string& expected) {
  std::vector<std::uint32_t> tokens, parts;
  tokenizer.encode(text, tokens);
  std::string decoded;
  for (const std::uint32_t token : tokens) tokenizer.decode(token, decoded);
  fuzz::require(decoded == expected, "a text reads back as it was");
  while (!text.empty()) {
    const std::size_t cut = lab::cut_behind(text, 1);
    tokenizer.encode(text.substr(0, cut), parts);
    text.remove_prefix(cut);
  }
  fuzz::require(parts == tokens, "a cut text has the tokens of the whole");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto gpt2 = lab::make_tokenizer("gpt2", TRASMUON_TOKENIZER_DIR);
  static const auto qwen = lab::make_tokenizer("qwen", TRASMUON_TOKENIZER_DIR);
  const std::string_view text = fuzz::text_of(data, size);
  lab::documents_of(text);
  try {
    check(*gpt2, text, std::string(text));
    const std::string normal = lab::nfc(text);
    fuzz::require(lab::nfc(normal) == normal, "a normal form stays as it is");
    check(*qwen, text, normal);
  } catch (const Error&) {
    fuzz::require(lab::valid_utf8_prefix(text) != text.size(), "valid UTF-8 is taken");
  }
  return 0;
}
