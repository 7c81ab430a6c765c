/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRASMUON_TESTS_C_API_CHECK_H
#define TRASMUON_TESTS_C_API_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trasmuon/c_api.h"

/* Every check names its line and goes on, so that one run shows all failures. */
extern int failures;

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                     \
    }                                                                 \
  } while (0)

#define CHECK_TEXT(actual, expected)                                                           \
  do {                                                                                         \
    const char* actual_ = (actual);                                                            \
    if (strcmp(actual_, (expected)) != 0) {                                                    \
      fprintf(stderr, "%s:%d: got '%s', not '%s'\n", __FILE__, __LINE__, actual_, (expected)); \
      ++failures;                                                                              \
    }                                                                                          \
  } while (0)

#define CHECK_OK(call)                                                                      \
  do {                                                                                      \
    if ((call) != TRASMUON_OK) {                                                            \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, trasmuon_last_error()); \
      ++failures;                                                                           \
    }                                                                                       \
  } while (0)

#define CHECK_FAILS(call, status, message)        \
  do {                                            \
    CHECK((call) == (status));                    \
    CHECK_TEXT(trasmuon_last_error(), (message)); \
  } while (0)

#define CHECK_REFUSED(call, message) CHECK_FAILS(call, TRASMUON_ERROR_REFUSED, message)
#define CHECK_NULL(call, message) CHECK_FAILS(call, TRASMUON_ERROR_NULL, message)

#endif
