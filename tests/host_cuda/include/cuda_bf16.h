// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trasmuon/half.h"

struct __nv_bfloat16 {
  __nv_bfloat16() = default;
  explicit __nv_bfloat16(float x) : bits(trasmuon::to_bf16(x).bits) {}
  explicit operator float() const { return trasmuon::to_float(trasmuon::bf16{bits}); }

 private:
  std::uint16_t bits;
};
