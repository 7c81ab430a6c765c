// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <trasmuon/error.h>

#include <string>

namespace trasmuon::test {

/// The text of the Error that the action throws.
template <class Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "(nothing was refused)";
}

}  // namespace trasmuon::test
