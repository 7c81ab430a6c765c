// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/checkpoint.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>

#include "checkpoint/file.h"
#include "checkpoint/manifest.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/state_tensors.h"
#include "trasmuon/error.h"

namespace trasmuon {
namespace {

[[noreturn]] void refuse(const std::string& tensor, const std::string& what) {
  throw Error("tensor '" + tensor + "': " + what);
}

/// Reads the header, and leaves `file` at the start of the data.
safetensors::Header read_header(InputFile& file) {
  if (file.size() < safetensors::kLengthBytes) {
    throw Error("file is truncated: it must have at least " + std::to_string(safetensors::kLengthBytes) +
                " bytes, got " + std::to_string(file.size()));
  }
  std::uint64_t length = 0;
  file.read(std::as_writable_bytes(std::span(&length, 1)));
  if (length > safetensors::kMaxHeaderBytes) {
    throw Error("header must be <= " + std::to_string(safetensors::kMaxHeaderBytes) + " bytes, got " +
                std::to_string(length) + "; this is not a safetensors file");
  }
  const std::uint64_t rest = file.size() - safetensors::kLengthBytes;
  if (length > rest) {
    throw Error("file is truncated: its header must have " + std::to_string(length) + " bytes, got " +
                std::to_string(rest));
  }
  std::string text(length, ' ');
  file.read(std::as_writable_bytes(std::span(text)));
  return safetensors::decode(text, rest - length);
}

std::string to_string(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

void check_tensor(const NamedState& own, const safetensors::Tensor& file) {
  if (file.dtype != safetensors::dtype_name(own.dtype)) {
    refuse(own.name, std::string("dtype must be ") + safetensors::dtype_name(own.dtype) + ", got " + file.dtype);
  }
  const auto dims = own.shape.dims();
  if (!std::equal(dims.begin(), dims.end(), file.shape.begin(), file.shape.end(),
                  [](std::int64_t a, std::uint64_t b) { return static_cast<std::uint64_t>(a) == b; })) {
    refuse(own.name, "shape must be " + to_string(own.shape) + ", got " + to_string(file.shape));
  }
  if (file.end - file.begin != own.bytes) {
    refuse(own.name, "must have " + std::to_string(own.bytes) + " bytes, got " + std::to_string(file.end - file.begin));
  }
}

void check_tensors(const safetensors::Header& header, const Manifest& manifest, const std::vector<NamedState>& state) {
  for (const NamedState& own : state) {
    const auto found = header.tensors.find(own.name);
    if (found == header.tensors.end()) refuse(own.name, "is missing from the file");
    check_tensor(own, found->second);
    if (!manifest.checksums.contains(own.name)) refuse(own.name, "has no checksum in the file");
  }
  if (header.tensors.size() == state.size()) return;
  std::set<std::string_view> known;
  for (const NamedState& own : state) known.insert(own.name);
  for (const auto& entry : header.tensors) {
    if (!known.contains(entry.first)) refuse(entry.first, "is not in the optimizer");
  }
}

std::vector<Options> recorded_options(const Manifest& manifest, const Optimizer& optimizer) {
  if (manifest.groups.size() != optimizer.group_count()) {
    throw Error("groups must be " + std::to_string(optimizer.group_count()) + ", as in the optimizer, got " +
                std::to_string(manifest.groups.size()));
  }
  std::vector<Options> options;
  for (std::size_t g = 0; g < manifest.groups.size(); ++g) {
    try {
      options.push_back(options_from(manifest.groups[g], optimizer.options(g)));
    } catch (const Error& error) {
      throw Error("group " + std::to_string(g) + ": " + error.what());
    }
  }
  return options;
}

void load(Optimizer& optimizer, const std::string& path) {
  InputFile file(path);
  safetensors::Header header = read_header(file);
  const Manifest manifest = unseal(header);
  std::vector<Options> options = recorded_options(manifest, optimizer);
  check_parameters(manifest, manifest_of(optimizer));
  const std::vector<NamedState> state = state_tensors(optimizer);
  check_tensors(header, manifest, state);

  // Tensors cover the data without gaps, so the data is as large as the state.
  const std::size_t bytes = optimizer.state_bytes();
  const auto data = std::make_unique_for_overwrite<std::byte[]>(bytes);
  file.read({data.get(), bytes});
  const auto data_of = [&](const NamedState& own) {
    return std::span(data.get() + header.tensors.at(own.name).begin, own.bytes);
  };
  for (const NamedState& own : state) {
    if (checksum(data_of(own)) != manifest.checksums.at(own.name)) {
      refuse(own.name, "checksum does not match: the file is damaged");
    }
  }

  optimizer.set_options(std::move(options));
  for (const NamedState& own : state) optimizer.write_state(own.parameter, own.state, data_of(own).data());
}

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

void load_checkpoint(Optimizer& optimizer, const std::string& path) {
  try {
    load(optimizer, path);
  } catch (const Error& error) {
    throw Error("load_checkpoint '" + path + "': " + error.what());
  }
}

}  // namespace trasmuon
