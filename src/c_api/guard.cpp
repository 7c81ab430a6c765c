// SPDX-License-Identifier: Apache-2.0
#include "c_api/guard.h"

#include <exception>
#include <new>
#include <utility>

#include "trasmuon/error.h"
#include "trasmuon/version.h"

namespace trasmuon::c_api {
namespace {

thread_local std::string last_error;
thread_local std::string lent_text;

template <class... Parts>
void remember(const Parts&... parts) noexcept {
  try {
    std::string text;
    ((text += parts), ...);
    last_error = std::move(text);
  } catch (...) {
    last_error.clear();
    last_error += "out of memory";  // short enough to be stored in place
  }
}

}  // namespace

int status_of_exception(const char* function) noexcept {
  try {
    throw;
  } catch (const NullArgument& argument) {
    remember(function, ": ", argument.name, " must not be NULL");
    return TRASMUON_ERROR_NULL;
  } catch (const Error& error) {
    remember(error.what());
    return TRASMUON_ERROR_REFUSED;
  } catch (const std::bad_alloc&) {
    remember("out of memory");
    return TRASMUON_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception& error) {
    remember(function, ": ", error.what());
  } catch (...) {
    remember(function, ": unknown exception");
  }
  return TRASMUON_ERROR_INTERNAL;
}

const char* lend_text(std::string text) noexcept {
  lent_text = std::move(text);
  return lent_text.c_str();
}

}  // namespace trasmuon::c_api

int trasmuon_abi_version(void) { return TRASMUON_ABI_VERSION; }
const char* trasmuon_version(void) { return TRASMUON_VERSION; }
const char* trasmuon_last_error(void) { return trasmuon::c_api::last_error.c_str(); }
