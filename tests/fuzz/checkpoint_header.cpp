// SPDX-License-Identifier: Apache-2.0
// The input is the JSON of a header; the tensors must cover 152 bytes. Its checksum is made right, so that the manifest
// inside is read too.
#include "checkpoint/manifest.h"
#include "checkpoint/safetensors.h"
#include "fuzz/fuzz.h"
#include "trasmuon/error.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trasmuon;
  try {
    safetensors::Header header = safetensors::decode(fuzz::text_of(data, size), 152);
    header.metadata.erase("trasmuon_header_checksum");
    const std::string text = safetensors::header_json(header);
    fuzz::require(safetensors::header_json(safetensors::decode(text, 152)) == text, "a header reads back as it was");
    header.metadata["trasmuon_header_checksum"] = checksum(std::as_bytes(std::span(text)));
    const Manifest manifest = unseal(header);
    seal(manifest, header);
    const Manifest again = unseal(header);
    check_parameters(again, manifest);
    fuzz::require(again.checksums == manifest.checksums, "checksums read back as they were");
  } catch (const Error&) {
  }
  return 0;
}
