// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "lab/records/blas.h"

int main() { std::puts(trasmuon::lab::to_string(trasmuon::lab::find_blas()).c_str()); }
