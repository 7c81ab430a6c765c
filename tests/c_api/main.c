/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

int failures = 0;

void test_options(void);
void test_builder(void);
void test_optimizer(void);
void test_state(void);
void test_functions(void);
void test_null_arguments(void);
void test_sharded_step(void);

int main(void) {
  CHECK_TEXT(trasmuon_last_error(), "");
  CHECK(trasmuon_abi_version() == TRASMUON_ABI_VERSION);
  CHECK_TEXT(trasmuon_version(), EXPECTED_VERSION);
  test_options();
  test_builder();
  test_optimizer();
  test_state();
  test_functions();
  test_null_arguments();
  test_sharded_step();
  if (failures > 0) fprintf(stderr, "%d checks failed\n", failures);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
