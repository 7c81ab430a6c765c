// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/manifest.h"

#include <cstdio>

#include "checkpoint/crc32.h"
#include "checkpoint/json_reader.h"
#include "checkpoint/json_text.h"
#include "trasmuon/error.h"
#include "trasmuon/version.h"

namespace trasmuon {

namespace {

constexpr const char* kFormat = "trasmuon_format";
constexpr const char* kFormatVersion = "1";
constexpr const char* kLibraryVersion = "trasmuon_version";
constexpr const char* kGroups = "trasmuon_groups";
constexpr const char* kParameters = "trasmuon_parameters";
constexpr const char* kChecksums = "trasmuon_checksums";
constexpr const char* kHeaderChecksum = "trasmuon_header_checksum";

// Far more than any rule has; without a limit short entries would take many times the memory of their text.
constexpr std::size_t kMaxFields = 100;

std::string group_text(const GroupRecord& group) {
  return R"({"fields":)" + to_json(group.fields) + R"(,"rule":)" + to_json(group.rule) + "}";
}

std::string parameter_text(const ParameterRecord& p) {
  return R"({"dtype":)" + to_json(p.dtype) + R"(,"group":)" + to_json(p.group) + R"(,"layout":)" + to_json(p.layout) +
         R"(,"row_blocks":)" + to_json(p.row_blocks) + R"(,"shape":)" + to_json(p.shape) + R"(,"transposed":)" +
         to_json(p.transposed) + "}";
}

std::string groups_text(const std::vector<GroupRecord>& groups) {
  std::string text = "[";
  for (const GroupRecord& group : groups) text += (text.size() > 1 ? "," : "") + group_text(group);
  return text + "]";
}

std::string parameters_text(const std::map<std::string, ParameterRecord>& parameters) {
  std::string text = "{";
  for (const auto& [name, record] : parameters) {
    text += (text.size() > 1 ? "," : "") + to_json(name) + ":" + parameter_text(record);
  }
  return text + "}";
}

bool read_groups(JsonReader& reader, std::vector<GroupRecord>& groups) {
  return reader.read_list([&] {
    GroupRecord& group = groups.emplace_back();
    return reader.read_record({"rule", "fields"}, [&](std::size_t field) {
      return field == 0 ? reader.read(group.rule) : reader.read(group.fields, kMaxFields);
    });
  });
}

bool read_parameter(JsonReader& reader, ParameterRecord& p) {
  return reader.read_record({"group", "dtype", "shape", "layout", "transposed", "row_blocks"}, [&](std::size_t field) {
    switch (field) {
      case 0: return reader.read(p.group);
      case 1: return reader.read(p.dtype);
      case 2: return reader.read(p.shape);
      case 3: return reader.read(p.layout);
      case 4: return reader.read(p.transposed);
      default: return reader.read(p.row_blocks);
    }
  });
}

bool read_parameters(JsonReader& reader, std::map<std::string, ParameterRecord>& parameters) {
  return reader.read_object([&](std::string name) {
    const auto [entry, added] = parameters.try_emplace(std::move(name));
    if (!added) refuse_second(entry->first);
    return read_parameter(reader, entry->second);
  });
}

/// Keeps the checksums of tensors in the file; there may be others, of which the caller misses the tensor.
bool read_checksums(JsonReader& reader, const std::map<std::string, safetensors::Tensor>& tensors,
                    std::map<std::string, std::string>& checksums) {
  return reader.read_object([&](std::string name) {
    std::string text;
    if (!reader.read(text)) return false;
    if (!tensors.contains(name)) return true;
    const auto [entry, added] = checksums.emplace(std::move(name), std::move(text));
    if (!added) refuse_second(entry->first);
    return true;
  });
}

/// Calls read(reader) on the JSON that the metadata has under this key.
template <class Read>
void read_part(const safetensors::Header& header, const char* key, Read read) {
  const auto found = header.metadata.find(key);
  if (found == header.metadata.end()) throw Error(std::string("metadata has no '") + key + "'");
  try {
    JsonReader reader(found->second);
    if (!read(reader)) throw JsonError("is malformed");
    reader.finish();
  } catch (const JsonError& error) {
    throw Error(std::string("metadata '") + key + "' " + error.what());
  }
}

/// Computes the checksum of the header, without the checksum itself.
std::string header_checksum(const safetensors::Header& header) {
  const std::string text = safetensors::header_json(header);
  return checksum(std::as_bytes(std::span(text)));
}

template <class Value>
void require_equal(const std::string& name, const char* what, const Value& file, const Value& optimizer) {
  if (file == optimizer) return;
  throw Error("parameter '" + name + "': " + what + " must be " + to_json(optimizer) + ", as in the optimizer, got " +
              to_json(file));
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
    if (found == file.parameters.end()) throw Error("parameter '" + name + "': is missing from the file");
    require_equal(name, "group", found->second.group, record.group);
    require_equal(name, "shape", found->second.shape, record.shape);
    require_equal(name, "weight dtype", found->second.dtype, record.dtype);
    require_equal(name, "layout", found->second.layout, record.layout);
    require_equal(name, "transposed", found->second.transposed, record.transposed);
    require_equal(name, "row_blocks", found->second.row_blocks, record.row_blocks);
  }
  for (const auto& [name, record] : file.parameters) {
    if (!optimizer.parameters.contains(name)) throw Error("parameter '" + name + "': is not in the optimizer");
  }
}

void seal(const Manifest& manifest, safetensors::Header& header) {
  header.metadata = {{kFormat, kFormatVersion},
                     {kLibraryVersion, TRASMUON_VERSION},
                     {kGroups, groups_text(manifest.groups)},
                     {kParameters, parameters_text(manifest.parameters)},
                     {kChecksums, to_json(manifest.checksums)}};
  header.metadata[kHeaderChecksum] = header_checksum(header);
}

Manifest unseal(safetensors::Header& header) {
  const auto format = header.metadata.find(kFormat);
  if (format == header.metadata.end()) {
    throw Error(std::string("file is not a trasmuon checkpoint: its metadata has no '") + kFormat + "'");
  }
  if (format->second != kFormatVersion) {
    throw Error(std::string("format version must be ") + kFormatVersion + ", got " + format->second +
                ": written by trasmuon " + header.metadata[kLibraryVersion]);
  }
  const auto sealed = header.metadata.extract(kHeaderChecksum);
  if (sealed.empty() || sealed.mapped() != header_checksum(header)) {
    throw Error("header: checksum does not match: the file is damaged");
  }
  Manifest manifest;
  read_part(header, kGroups, [&](JsonReader& reader) { return read_groups(reader, manifest.groups); });
  read_part(header, kParameters, [&](JsonReader& reader) { return read_parameters(reader, manifest.parameters); });
  read_part(header, kChecksums,
            [&](JsonReader& reader) { return read_checksums(reader, header.tensors, manifest.checksums); });
  return manifest;
}

}  // namespace trasmuon
