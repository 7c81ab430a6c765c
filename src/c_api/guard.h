// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "trasmuon/c_api.h"

namespace trasmuon::c_api {

struct NullArgument {
  const char* name;
};

/// Dereferences a pointer; if it is NULL the call returns TRASMUON_ERROR_NULL.
template <class T>
T& require(T* pointer, const char* name) {
  if (pointer == nullptr) throw NullArgument{name};
  return *pointer;
}

/// As require(), for an array, which may be NULL if it is empty.
inline void require_array(const void* pointer, std::size_t count, const char* name) {
  if (pointer == nullptr && count > 0) throw NullArgument{name};
}

/// Stores the text of the current exception for trasmuon_last_error and returns its status. Call it in a catch block.
int status_of_exception(const char* function) noexcept;

/// Runs `body` and returns a status: no exception leaves the C ABI.
template <class Body>
int guarded(const char* function, Body&& body) noexcept {
  try {
    body();
    return TRASMUON_OK;
  } catch (...) {
    return status_of_exception(function);
  }
}

/// Stores `text` until this thread's next call of lend_text, and returns a pointer to it.
const char* lend_text(std::string text) noexcept;

}  // namespace trasmuon::c_api
