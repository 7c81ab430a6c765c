// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// Tables of Unicode; unicode_tables.cpp is written by unicode_tables.py.
namespace trasmuon::lab::unicode {

/// All codes from this one to the next stretch have this value.
struct Stretch {
  char32_t first;
  std::uint8_t value;
};
extern const Stretch kKinds[];   ///< CharacterKind
extern const Stretch kOrders[];  ///< canonical combining class
extern const std::size_t kKindsCount, kOrdersCount;

/// A canonical decomposition in one step, sorted by code; without Hangul.
struct Decomposition {
  char32_t code, first, second;  ///< second is 0 if there is none
  bool composes;                 ///< NFC puts it together again
};
extern const Decomposition kDecompositions[];
extern const std::size_t kDecompositionsCount;

}  // namespace trasmuon::lab::unicode
