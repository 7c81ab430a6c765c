// SPDX-License-Identifier: Apache-2.0
#include "lab/records/blas.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

/// A loaded library. Symbols are looked up in it and in what it depends on: Debian's libblas.so.3 of OpenBLAS
/// holds only the Fortran interface.
class LoadedLibrary {
 public:
  explicit LoadedLibrary(const char* file) : handle_(::dlopen(file, RTLD_LAZY | RTLD_NOLOAD)) {}
  LoadedLibrary(const LoadedLibrary&) = delete;
  LoadedLibrary& operator=(const LoadedLibrary&) = delete;
  ~LoadedLibrary() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }

  template <class Function>
  Function* function(const char* name) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(handle_, name));
  }

 private:
  void* handle_;
};

/// The first number with dots in a text: "Library Version 2024.2-Product Build" -> "2024.2".
std::string version_in(const std::string& text) {
  for (std::size_t begin = text.find_first_of("0123456789"); begin != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789.", begin), text.size());
    const std::string number = text.substr(begin, end - begin);
    if (number.find('.') != std::string::npos) return number;
    begin = text.find_first_of("0123456789", end);
  }
  return text;
}

/// Empty for a library that is none of these.
std::string optimized_name(const LoadedLibrary& library) {
  if (auto* config = library.function<const char*()>("openblas_get_config")) {
    std::string name = "OpenBLAS " + version_in(config());
    if (auto* parallel = library.function<int()>("openblas_get_parallel")) {
      constexpr const char* kThreads[] = {" serial", " pthread", " openmp"};
      if (const int kind = parallel(); kind >= 0 && kind < 3) name += kThreads[kind];
    }
    if (auto* core = library.function<const char*()>("openblas_get_corename")) name += std::string(" ") + core();
    return name;
  }
  for (const char* symbol : {"MKL_Get_Version_String", "mkl_get_version_string"}) {
    if (auto* version = library.function<void(char*, int)>(symbol)) {
      char text[256] = {};
      version(text, sizeof text - 1);
      return "MKL " + version_in(text);
    }
  }
  if (auto* version = library.function<const char*()>("bli_info_get_version_str")) {
    return "BLIS " + version_in(version());
  }
  return {};
}

}  // namespace

Blas find_blas() {
  void* sgemm = ::dlsym(RTLD_DEFAULT, "sgemm_");
  Dl_info info{};
  if (sgemm == nullptr || ::dladdr(sgemm, &info) == 0) return {};
  std::error_code error;
  const fs::path real = fs::canonical(info.dli_fname, error);  // Debian's libblas.so.3 is a link to the one in use
  const fs::path file = error ? fs::path(info.dli_fname) : real;
  if (std::string name = optimized_name(LoadedLibrary(info.dli_fname)); !name.empty()) {
    return {Blas::Kind::optimized, std::move(name), file.string()};
  }
  const bool generic = file.filename().string().starts_with("libblas.so");
  const bool atlas = file.string().find("atlas") != std::string::npos;
  if (generic && !atlas) return {Blas::Kind::reference, "reference BLAS", file.string()};
  return {Blas::Kind::unknown, "unknown BLAS", file.string()};
}

std::string advice(const Blas& blas) {
  if (blas.kind == Blas::Kind::reference) {
    return std::string("LibTorch is 20 times slower on it; ") + kFastBlasAdvice;
  }
  if (blas.name.ends_with(" Prescott")) {  // OpenBLAS's choice for a CPU newer than itself
    return "it does not know this CPU and uses SSE3, a third of the speed; set OPENBLAS_CORETYPE=Haswell for AVX2, "
           "SkylakeX for AVX-512";
  }
  return {};
}

std::string to_string(const Blas& blas) {
  return blas.kind == Blas::Kind::none ? "none" : blas.name + " (" + blas.file + ")";
}

}  // namespace trasmuon::lab
