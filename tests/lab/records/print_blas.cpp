// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "lab/records/blas.h"

int main() {
  const trasmuon::lab::Blas blas = trasmuon::lab::find_blas();
  std::puts((to_string(blas) + "\n" + advice(blas)).c_str());
}
