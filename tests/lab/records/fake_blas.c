/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols by which a BLAS library is recognized. */
#include <stdio.h>

void sgemm_(void) {}

#ifdef FAKE_OPENBLAS
const char* openblas_get_config(void) { return "OpenBLAS 0.3.99 NO_LAPACKE DYNAMIC_ARCH Zen MAX_THREADS=64"; }
int openblas_get_parallel(void) { return 1; }
#ifdef FAKE_OLD
const char* openblas_get_corename(void) { return "Prescott"; }
#else
const char* openblas_get_corename(void) { return "Zen"; }
#endif
#endif

#ifdef FAKE_MKL
void MKL_Get_Version_String(char* text, int size) {
  snprintf(text, (size_t)size,
           "Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 20240605 for Intel 64");
}
#endif
