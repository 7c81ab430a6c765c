// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "trasmuon/error.h"

namespace trasmuon::libtorch {

/// The text of the Error that `action` must throw.
template <class Action>
std::string refusal(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

}  // namespace trasmuon::libtorch
