// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "checkpoint/json_reader.h"
#include "checkpoint/json_text.h"
#include "trasmuon/error.h"

namespace trasmuon::safetensors {
namespace {

static_assert(std::endian::native == std::endian::little, "length and data are written as they are in memory");

constexpr const char* kMetadata = "__metadata__";

// Far more than anyone writes. Without a limit short entries would take many times the memory of their text.
constexpr std::size_t kMaxMetadataEntries = 1000;

std::map<std::string, std::string> decode_metadata(JsonReader& reader) {
  std::map<std::string, std::string> metadata;
  const bool object = reader.read_object([&](std::string key) {
    const auto [entry, added] = metadata.try_emplace(std::move(key));
    if (!added) refuse_second(entry->first);
    if (metadata.size() > kMaxMetadataEntries) {
      throw Error("header: __metadata__ must have <= " + std::to_string(kMaxMetadataEntries) + " entries");
    }
    if (!reader.read(entry->second)) throw Error("header: __metadata__ '" + entry->first + "' must be a string");
    return true;
  });
  if (!object) throw Error("header: __metadata__ must be an object");
  return metadata;
}

Tensor decode_tensor(const std::string& name, JsonReader& reader) {
  const auto refuse = [&](const char* what) { throw Error("header: tensor '" + name + "': " + what); };
  Tensor tensor;
  const bool complete = reader.read_record({"dtype", "shape", "data_offsets"}, [&](std::size_t field) {
    if (field == 0 && !reader.read(tensor.dtype)) refuse("dtype must be a string");
    if (field == 1 && !reader.read(tensor.shape)) refuse("shape must be a list of whole numbers >= 0");
    if (field == 2) {
      std::vector<std::uint64_t> offsets;
      if (!reader.read(offsets) || offsets.size() != 2) refuse("data_offsets must be two whole numbers >= 0");
      tensor.begin = offsets[0];
      tensor.end = offsets[1];
    }
    return true;
  });
  if (!complete) refuse("must have dtype, shape and data_offsets and nothing else");
  return tensor;
}

/// Throws Error unless the tensors cover the data without gap or overlap.
void check_offsets(const std::map<std::string, Tensor>& tensors, std::uint64_t data_bytes) {
  std::vector<const std::pair<const std::string, Tensor>*> order;
  order.reserve(tensors.size());
  for (const auto& entry : tensors) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  std::uint64_t expected = 0;
  for (const auto* entry : order) {
    const Tensor& tensor = entry->second;
    const auto refuse = [&](const std::string& why) {
      throw Error("header: tensor '" + entry->first + "': data_offsets [" + std::to_string(tensor.begin) + ", " +
                  std::to_string(tensor.end) + "] " + why);
    };
    if (tensor.end < tensor.begin) refuse("end before they begin");
    if (tensor.begin < expected) refuse("overlap the previous tensor, which ends at " + std::to_string(expected));
    if (tensor.begin > expected) refuse("leave a gap after " + std::to_string(expected));
    if (tensor.end > data_bytes) {
      refuse("extend past the end of the file, which has " + std::to_string(data_bytes) + " bytes of data");
    }
    expected = tensor.end;
  }
  if (expected != data_bytes) {
    throw Error("file has " + std::to_string(data_bytes - expected) + " bytes after the last tensor");
  }
}

}  // namespace

const char* dtype_name(DType dtype) {
  switch (dtype) {
    case DType::f64: return "F64";
    case DType::f32: return "F32";
    case DType::bf16: return "BF16";
    case DType::f16: return "F16";
    case DType::i64: return "I64";
  }
  throw Error("dtype must be f64, f32, bf16, f16 or i64, got " + std::to_string(static_cast<int>(dtype)));
}

std::string header_json(const Header& header) {
  std::string text = "{";
  const auto append = [&](std::string_view key, const std::string& value) {
    if (text.size() > 1) text += ',';
    text += to_json(key);
    text += ':';
    text += value;
  };
  // Keys are sorted, and the metadata is one of them.
  auto tensor = header.tensors.begin();
  const auto append_tensors = [&](auto end) {
    for (; tensor != end; ++tensor) {
      const auto& [name, t] = *tensor;
      append(name, "{\"data_offsets\":" + to_json(std::vector{t.begin, t.end}) + ",\"dtype\":" + to_json(t.dtype) +
                       ",\"shape\":" + to_json(t.shape) + "}");
    }
  };
  append_tensors(header.tensors.lower_bound(kMetadata));
  append(kMetadata, to_json(header.metadata));
  append_tensors(header.tensors.end());
  return text + "}";
}

std::string encode(const Header& header) {
  std::string text = header_json(header);
  text.append((8 - text.size() % 8) % 8, ' ');
  const std::uint64_t length = text.size();
  if (length > kMaxHeaderBytes) {
    throw Error("header must be <= " + std::to_string(kMaxHeaderBytes) + " bytes, got " + std::to_string(length));
  }
  char prefix[kLengthBytes];
  std::memcpy(prefix, &length, sizeof length);
  return std::string(prefix, sizeof prefix) + text;
}

Header decode(std::string_view text, std::uint64_t data_bytes) {
  Header header;
  bool has_metadata = false;
  try {
    JsonReader reader(text);
    const bool object = reader.read_object([&](std::string name) {
      if (name == kMetadata) {
        if (std::exchange(has_metadata, true)) refuse_second(name);
        header.metadata = decode_metadata(reader);
        return true;
      }
      const auto [entry, added] = header.tensors.try_emplace(std::move(name));
      if (!added) refuse_second(entry->first);
      entry->second = decode_tensor(entry->first, reader);
      return true;
    });
    if (!object) throw Error("header must be an object");
    reader.finish();
  } catch (const JsonError& error) {
    throw Error(std::string("header ") + error.what());
  }
  check_offsets(header.tensors, data_bytes);
  return header;
}

}  // namespace trasmuon::safetensors
