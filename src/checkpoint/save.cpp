// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/file.h"
#include "checkpoint/manifest.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/state_tensors.h"
#include "trasmuon/checkpoint.h"
#include "trasmuon/error.h"

namespace trasmuon {
namespace {

safetensors::Header header_of(const Optimizer& optimizer, const std::vector<NamedState>& tensors) {
  safetensors::Header header;
  Manifest manifest = manifest_of(optimizer);
  std::uint64_t offset = 0;
  for (const NamedState& tensor : tensors) {
    const auto dims = tensor.shape.dims();
    header.tensors[tensor.name] = {.dtype = safetensors::dtype_name(tensor.dtype),
                                   .shape = {dims.begin(), dims.end()},
                                   .begin = offset,
                                   .end = offset + tensor.bytes};
    offset += tensor.bytes;
    manifest.checksums[tensor.name] = checksum(contents(optimizer, tensor));
  }
  seal(manifest, header);
  return header;
}

}  // namespace

void save_checkpoint(const Optimizer& optimizer, const std::string& path) {
  try {
    const std::vector<NamedState> tensors = state_tensors(optimizer);
    const std::string header = safetensors::encode(header_of(optimizer, tensors));
    AtomicFile file(path);
    file.write(std::as_bytes(std::span(header)));
    for (const NamedState& tensor : tensors) file.write(contents(optimizer, tensor));
    file.commit();
  } catch (const Error& error) {
    throw Error("save_checkpoint '" + path + "': " + error.what());
  }
}

}  // namespace trasmuon
