// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include "trasmuon/export.h"

namespace trasmuon {

/// The one exception type of this library. The text names the field or tensor, the rule and the
/// value found: "trasmuon: alpha must be > 0, got -1".
class TRASMUON_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace trasmuon
