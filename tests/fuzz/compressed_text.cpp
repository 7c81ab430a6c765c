// SPDX-License-Identifier: Apache-2.0
// The input is a gzip file, or the text of a page in POD.
#include "fuzz/fuzz.h"
#include "lab/data/inflate.h"
#include "lab/data/text/pod.h"
#include "trasmuon/error.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trasmuon;
  const std::string_view text = fuzz::text_of(data, size);
  try {
    if (text.starts_with("\x1f\x8b")) lab::inflate_gzip({data, size}, "x.gz");
  } catch (const Error&) {
  }
  fuzz::require(lab::prose_of_pod(text).size() <= text.size() + 1, "prose is no longer than its page");
  return 0;
}
