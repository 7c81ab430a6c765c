// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/group_record.h"
#include "checkpoint/safetensors.h"
#include "trasmuon/optimizer.h"

namespace trasmuon {

/// Properties of a parameter that must be equal when its state is loaded.
struct ParameterRecord {
  std::uint64_t group = 0;
  std::string dtype;  ///< of the weight
  std::vector<std::int64_t> shape;
  std::string layout;
  bool transposed = false;
  std::vector<std::int64_t> row_blocks;
};

/// Everything in a checkpoint besides the tensors; stored in the file's metadata.
struct Manifest {
  std::vector<GroupRecord> groups;
  std::map<std::string, ParameterRecord> parameters;
  std::map<std::string, std::string> checksums;  ///< of the tensors' bytes
};

/// Returns the manifest of this optimizer, without checksums.
Manifest manifest_of(const Optimizer& optimizer);

/// Throws Error if parameters of the file and the optimizer differ; names the first one.
void check_parameters(const Manifest& file, const Manifest& optimizer);

/// Returns the CRC-32 as eight hexadecimal digits.
std::string checksum(std::span<const std::byte> bytes);

/// Writes the manifest into the metadata, with a checksum of the whole header.
void seal(const Manifest& manifest, safetensors::Header& header);

/// Reads it back, and takes the header's checksum out of the metadata; throws Error if the file is not a checkpoint,
/// has another format version, or its header was changed.
Manifest unseal(safetensors::Header& header);

}  // namespace trasmuon
