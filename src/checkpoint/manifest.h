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

/// What must be the same for the state to mean the same.
struct ParameterRecord {
  std::size_t group = 0;
  std::string dtype;  ///< of the weight
  std::vector<std::int64_t> shape;
  std::string layout;
  bool transposed = false;
  std::vector<std::int64_t> row_blocks;
};

/// What a checkpoint tells beside the tensors, kept in the file's metadata.
struct Manifest {
  std::vector<GroupRecord> groups;
  std::map<std::string, ParameterRecord> parameters;
  std::map<std::string, std::string> checksums;  ///< of the tensors' bytes
};

/// The manifest of this optimizer, without checksums.
Manifest manifest_of(const Optimizer& optimizer);

/// Throws Error naming the first parameter in which the file and the optimizer differ.
void check_parameters(const Manifest& file, const Manifest& optimizer);

/// CRC-32 in eight hexadecimal digits.
std::string checksum(std::span<const std::byte> bytes);

/// Puts the manifest into the metadata, with a checksum over the whole header.
void seal(const Manifest& manifest, safetensors::Header& header);

/// Takes it out again; throws Error on a file that is not ours, is of another format
/// version or whose header was altered.
Manifest unseal(safetensors::Header header);

}  // namespace trasmuon
