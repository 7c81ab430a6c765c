// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "checkpoint/json.h"
#include "trasmuon/error.h"

namespace trasmuon::safetensors {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "length and data are written as they lie in memory");

constexpr const char* kMetadata = "__metadata__";

bool all_unsigned(const json& value) {
  return value.is_array() &&
         std::all_of(value.begin(), value.end(), [](const json& item) { return item.is_number_unsigned(); });
}

std::map<std::string, std::string> decode_metadata(const json& value) {
  if (!value.is_object()) throw Error("header: __metadata__ must be an object");
  std::map<std::string, std::string> metadata;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) throw Error("header: __metadata__ '" + key + "' must be a string");
    metadata.emplace(key, text.get<std::string>());
  }
  return metadata;
}

Tensor decode_tensor(const std::string& name, const json& value) {
  const auto refuse = [&](const char* what) { throw Error("header: tensor '" + name + "': " + what); };
  if (!value.is_object() || value.size() != 3 || !value.contains("dtype") || !value.contains("shape") ||
      !value.contains("data_offsets")) {
    refuse("must have dtype, shape and data_offsets and nothing else");
  }
  const json &dtype = value["dtype"], &shape = value["shape"], &offsets = value["data_offsets"];
  if (!dtype.is_string()) refuse("dtype must be a string");
  if (!all_unsigned(shape)) refuse("shape must be a list of whole numbers >= 0");
  if (!all_unsigned(offsets) || offsets.size() != 2) refuse("data_offsets must be two whole numbers >= 0");
  return {dtype.get<std::string>(), shape.get<std::vector<std::uint64_t>>(), offsets[0].get<std::uint64_t>(),
          offsets[1].get<std::uint64_t>()};
}

/// The tensors, in the order of their data, must follow one another without gap or overlap.
void check_offsets(const std::map<std::string, Tensor>& tensors, std::uint64_t data_bytes) {
  std::vector<const std::pair<const std::string, Tensor>*> order;
  order.reserve(tensors.size());
  for (const auto& entry : tensors) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  std::uint64_t expected = 0;
  for (const auto* entry : order) {
    const auto& [name, tensor] = *entry;
    const std::string range = "header: tensor '" + name + "': data_offsets [" + std::to_string(tensor.begin) + ", " +
                              std::to_string(tensor.end) + "] ";
    if (tensor.end < tensor.begin) throw Error(range + "end before they begin");
    if (tensor.begin < expected)
      throw Error(range + "overlap the tensor before, which ends at " + std::to_string(expected));
    if (tensor.begin > expected) throw Error(range + "leave a gap after " + std::to_string(expected));
    if (tensor.end > data_bytes) {
      throw Error(range + "reach past the end of the file, which has " + std::to_string(data_bytes) + " bytes of data");
    }
    expected = tensor.end;
  }
  if (expected != data_bytes) {
    throw Error("has " + std::to_string(data_bytes - expected) + " bytes after the last tensor");
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
  throw Error("dtype must be a known one, got " + std::to_string(static_cast<int>(dtype)));
}

std::string header_json(const Header& header) {
  json value = json::object();
  value[kMetadata] = header.metadata;
  for (const auto& [name, tensor] : header.tensors) {
    value[name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {tensor.begin, tensor.end}}};
  }
  return to_text(value);
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
  json value;
  try {
    value = parse_json(text);
  } catch (const Error& error) {
    throw Error(std::string("header ") + error.what());
  }
  if (!value.is_object()) throw Error("header must be an object");
  Header header;
  for (const auto& [name, entry] : value.items()) {
    if (name == kMetadata) header.metadata = decode_metadata(entry);
    else header.tensors.emplace(name, decode_tensor(name, entry));
  }
  check_offsets(header.tensors, data_bytes);
  return header;
}

}  // namespace trasmuon::safetensors
