// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include "trasmuon/export.h"

namespace trasmuon {

/// Everything this library refuses is reported by this one type. The text names
/// the field or tensor, the value found and the rule it breaks.
class TRASMUON_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace trasmuon
