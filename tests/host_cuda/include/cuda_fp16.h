// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trasmuon/half.h"

struct __half {
  __half() = default;
  explicit __half(float x) : bits(trasmuon::to_f16(x).bits) {}
  explicit operator float() const { return trasmuon::to_float(trasmuon::f16{bits}); }

 private:
  std::uint16_t bits;
};
