// SPDX-License-Identifier: Apache-2.0
// The input is a checkpoint of test::tiny(), whose header's checksum is made right if it can be read. A file that is
// refused must leave the optimizer as it was.
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "checkpoint/manifest.h"
#include "checkpoint/models.h"
#include "checkpoint/safetensors.h"
#include "fuzz/fuzz.h"
#include "support/temporary_directory.h"

namespace {

using namespace trasmuon;

std::string with_right_checksum(std::string_view file) {
  std::uint64_t length = 0;
  if (file.size() < sizeof length) return std::string(file);
  std::memcpy(&length, file.data(), sizeof length);
  if (length > file.size() - sizeof length) return std::string(file);
  const std::string_view data = file.substr(sizeof length + length);
  try {
    safetensors::Header header = safetensors::decode(file.substr(sizeof length, length), data.size());
    header.metadata.erase("trasmuon_header_checksum");
    const std::string text = safetensors::header_json(header);
    header.metadata["trasmuon_header_checksum"] = checksum(std::as_bytes(std::span(text)));
    return safetensors::encode(header).append(data);
  } catch (const Error&) {
    return std::string(file);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const test::TemporaryDirectory directory;
  static test::Model model(test::tiny());
  const std::string path = directory / "run";
  const std::string file = with_right_checksum(fuzz::text_of(data, size));
  test::write_file(path, file);
  const test::Snapshot before = model.snapshot();
  try {
    load_checkpoint(model.optimizer(), path);
  } catch (const Error&) {
    fuzz::require(model.snapshot() == before, "a refused file changes nothing");
    return 0;
  }
  save_checkpoint(model.optimizer(), path);
  const test::Snapshot loaded = model.snapshot();
  load_checkpoint(model.optimizer(), path);
  fuzz::require(model.snapshot() == loaded, "what was loaded is saved and loaded again");
  return 0;
}
