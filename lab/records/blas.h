// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace trasmuon::lab {

/// The BLAS library that LibTorch's matrix products use in this process.
struct Blas {
  enum class Kind {
    none,       ///< no BLAS is loaded: a build without LibTorch
    reference,  ///< Netlib's reference implementation, 20 times slower than the others
    optimized,  ///< OpenBLAS, MKL, BLIS
    unknown,
  };
  Kind kind = Kind::none;
  std::string name;  ///< "OpenBLAS 0.3.21 pthread", "MKL 2024.2", "reference BLAS"; empty for none
  std::string file;  ///< the shared library that defines it, links resolved
};

/// Finds the library that defines sgemm_ among those that are loaded. Calls nothing in it but its version.
Blas find_blas();

/// "OpenBLAS 0.3.21 pthread (/usr/lib/.../libblas.so.3)"
std::string to_string(const Blas& blas);

/// What to do about a reference BLAS.
inline constexpr const char* kFastBlasAdvice =
    "on Debian run `apt-get install libopenblas0-pthread`; if that is installed, "
    "`update-alternatives --config libblas.so.3-$(uname -m)-linux-gnu` selects it";

/// What to do about a slow one: a reference BLAS, or an OpenBLAS that does not know this CPU. Empty if there is
/// nothing.
std::string advice(const Blas& blas);

}  // namespace trasmuon::lab
