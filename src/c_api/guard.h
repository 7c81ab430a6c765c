// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "trasmuon/c_api.h"

namespace trasmuon::c_api {

struct NullArgument {
  const char* name;
};

/// Stops a call with TRASMUON_ERROR_NULL.
template <class T>
T& require(T* pointer, const char* name) {
  if (pointer == nullptr) throw NullArgument{name};
  return *pointer;
}

/// An array may be NULL if it is empty.
inline void require_array(const void* pointer, std::size_t count, const char* name) {
  if (pointer == nullptr && count > 0) throw NullArgument{name};
}

/// Inside a catch block: keeps the exception's text for trasmuon_last_error and names its status.
int status_of_exception(const char* function) noexcept;

/// The edge that no exception crosses.
template <class Body>
int guarded(const char* function, Body&& body) noexcept {
  try {
    body();
    return TRASMUON_OK;
  } catch (...) {
    return status_of_exception(function);
  }
}

/// Keeps `text` until this thread's next call of lend_text.
const char* lend_text(std::string text) noexcept;

}  // namespace trasmuon::c_api
