/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <trasmuon/c_api.h>

int main(void) {
  trasmuon_options* options = NULL;
  if (trasmuon_options_create("trasmuon", &options) != TRASMUON_OK) return 1;
  if (trasmuon_options_set_number(options, "alpha", -1) != TRASMUON_ERROR_REFUSED) return 1;
  printf("%s %s\n", trasmuon_version(), trasmuon_last_error());
  trasmuon_options_destroy(options);
  return 0;
}
