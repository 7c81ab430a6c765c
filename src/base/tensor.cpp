// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/tensor.h"

#include <algorithm>

#include "trasmuon/error.h"

namespace trasmuon {

const char* to_string(DType dtype) {
  switch (dtype) {
    case DType::f64: return "f64";
    case DType::f32: return "f32";
    case DType::bf16: return "bf16";
    case DType::f16: return "f16";
    case DType::i64: return "i64";
  }
  return "unknown";
}

std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::i64: return 8;
    case DType::f32: return 4;
    case DType::bf16:
    case DType::f16: return 2;
  }
  return 0;
}

Shape::Shape(std::span<const std::int64_t> dims) : rank_(dims.size()) {
  if (dims.size() > kMaxRank) {
    throw Error("shape: rank must be <= " + std::to_string(kMaxRank) + ", got " + std::to_string(dims.size()));
  }
  std::int64_t elements = 1;
  for (std::int64_t size : dims) {
    if (size < 0) throw Error("shape: sizes must be >= 0, got " + std::to_string(size));
    if (__builtin_mul_overflow(elements, std::max<std::int64_t>(size, 1), &elements)) {
      throw Error("shape: the number of elements must fit 64 bits");
    }
  }
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

std::int64_t Shape::elements() const {
  std::int64_t product = 1;
  for (std::int64_t size : dims()) product *= size;
  return product;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

}  // namespace trasmuon
