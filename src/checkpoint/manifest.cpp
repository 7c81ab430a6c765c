// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/manifest.h"

#include <cstdio>

#include "checkpoint/crc32.h"
#include "checkpoint/json.h"
#include "trasmuon/error.h"
#include "trasmuon/version.h"

namespace trasmuon {

using nlohmann::json;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GroupRecord, rule, fields)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ParameterRecord, group, dtype, shape, layout, transposed, row_blocks)

namespace {

constexpr const char* kFormat = "trasmuon_format";
constexpr const char* kFormatVersion = "1";
constexpr const char* kLibraryVersion = "trasmuon_version";
constexpr const char* kGroups = "trasmuon_groups";
constexpr const char* kParameters = "trasmuon_parameters";
constexpr const char* kChecksums = "trasmuon_checksums";
constexpr const char* kHeaderChecksum = "trasmuon_header_checksum";

template <class Part>
Part read_part(const safetensors::Header& header, const char* key) {
  const auto found = header.metadata.find(key);
  if (found == header.metadata.end()) throw Error(std::string("metadata has no '") + key + "'");
  try {
    return parse_json(found->second).get<Part>();
  } catch (const Error& error) {
    throw Error(std::string("metadata '") + key + "' " + error.what());
  } catch (const json::exception& error) {
    throw Error(std::string("metadata '") + key + "' is malformed: " + error.what());
  }
}

/// Over the header as it is before this checksum is put in.
std::string header_checksum(const safetensors::Header& header) {
  const std::string text = safetensors::header_json(header);
  return checksum(std::as_bytes(std::span(text)));
}

template <class Value>
void require_equal(const std::string& name, const char* what, const Value& file, const Value& optimizer) {
  if (file == optimizer) return;
  throw Error("parameter '" + name + "': " + what + " must be " + json(optimizer).dump() +
              ", as in the optimizer, got " + json(file).dump());
}

}  // namespace

std::string checksum(std::span<const std::byte> bytes) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>(crc32(bytes)));
  return text;
}

const char* layout_name(Layout layout) {
  constexpr const char* names[] = {"automatic", "batch", "flatten"};
  return names[static_cast<std::size_t>(layout)];
}

Manifest manifest_of(const Optimizer& optimizer) {
  Manifest manifest;
  for (std::size_t g = 0; g < optimizer.group_count(); ++g) manifest.groups.push_back(record_of(optimizer.options(g)));
  for (std::size_t i = 0; i < optimizer.parameter_count(); ++i) {
    const Parameter& p = optimizer.parameter(i);
    const auto dims = p.weight.shape.dims();
    manifest.parameters[p.name] = {.group = optimizer.group_of(i),
                                   .dtype = to_string(p.weight.dtype),
                                   .shape = {dims.begin(), dims.end()},
                                   .layout = layout_name(p.layout),
                                   .transposed = p.transposed,
                                   .row_blocks = p.row_blocks};
  }
  return manifest;
}

void check_parameters(const Manifest& file, const Manifest& optimizer) {
  for (const auto& [name, record] : optimizer.parameters) {
    const auto found = file.parameters.find(name);
    if (found == file.parameters.end()) throw Error("parameter '" + name + "': is missing in the file");
    require_equal(name, "group", found->second.group, record.group);
    require_equal(name, "shape", found->second.shape, record.shape);
    require_equal(name, "weight dtype", found->second.dtype, record.dtype);
    require_equal(name, "layout", found->second.layout, record.layout);
    require_equal(name, "transposed", found->second.transposed, record.transposed);
    require_equal(name, "row_blocks", found->second.row_blocks, record.row_blocks);
  }
  for (const auto& [name, record] : file.parameters) {
    if (!optimizer.parameters.contains(name)) throw Error("parameter '" + name + "': is unknown to the optimizer");
  }
}

void seal(const Manifest& manifest, safetensors::Header& header) {
  header.metadata = {{kFormat, kFormatVersion},
                     {kLibraryVersion, TRASMUON_VERSION},
                     {kGroups, to_text(manifest.groups)},
                     {kParameters, to_text(manifest.parameters)},
                     {kChecksums, to_text(manifest.checksums)}};
  header.metadata[kHeaderChecksum] = header_checksum(header);
}

Manifest unseal(safetensors::Header header) {
  const auto format = header.metadata.find(kFormat);
  if (format == header.metadata.end()) {
    throw Error(std::string("is a safetensors file but no trasmuon checkpoint: its metadata has no '") + kFormat + "'");
  }
  if (format->second != kFormatVersion) {
    throw Error(std::string("format version must be ") + kFormatVersion + ", got " + format->second +
                ": written by trasmuon " + header.metadata[kLibraryVersion]);
  }
  const auto sealed = header.metadata.extract(kHeaderChecksum);
  if (sealed.empty() || sealed.mapped() != header_checksum(header)) {
    throw Error("header: checksum does not match: the file is damaged");
  }
  return {.groups = read_part<std::vector<GroupRecord>>(header, kGroups),
          .parameters = read_part<std::map<std::string, ParameterRecord>>(header, kParameters),
          .checksums = read_part<std::map<std::string, std::string>>(header, kChecksums)};
}

}  // namespace trasmuon
