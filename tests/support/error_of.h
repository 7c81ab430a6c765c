// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "trasmuon/error.h"

namespace trasmuon::test {

/// Returns the text of the Error that `call` throws, or "no error".
template <class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace trasmuon::test
