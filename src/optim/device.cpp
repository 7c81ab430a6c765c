// SPDX-License-Identifier: Apache-2.0
#include "optim/device.h"

#include <dlfcn.h>

#include <string>

#include "trasmuon/error.h"
#include "trasmuon/version.h"

namespace trasmuon {
namespace {

constexpr const char* kLibrary = "libtrasmuon_cuda.so";

/// The folder this library was loaded from, with a slash, or "".
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&make_backend), &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string path = info.dli_fname;
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

struct CudaLibrary {
  CudaBackendFactory factory = nullptr;
  std::string problem;

  CudaLibrary() {
    // Beside this library first, so that the two belong together.
    void* library = dlopen((own_folder() + kLibrary).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      problem = std::string("cuda: cannot load ") + kLibrary + ": " + dlerror();
      return;
    }
    const auto version = reinterpret_cast<const char* (*)()>(dlsym(library, "trasmuon_cuda_version"));
    if (version == nullptr || std::string(version()) != TRASMUON_VERSION) {
      problem = std::string("cuda: ") + kLibrary + " must be of version " TRASMUON_VERSION ", got " +
                (version == nullptr ? "none" : version());
      return;
    }
    factory = reinterpret_cast<CudaBackendFactory>(dlsym(library, "trasmuon_cuda_backend"));
  }
};

}  // namespace

std::unique_ptr<Backend> make_backend(Device device) {
  if (device.type == Device::Type::cpu) return make_cpu_backend();
  static const CudaLibrary& library = *new CudaLibrary;  // never destroyed: exit() may come while another thread asks
  if (library.factory == nullptr) throw Error(library.problem);
  return std::unique_ptr<Backend>(library.factory(device.index));
}

std::string to_string(Device device) {
  return device.type == Device::Type::cpu ? "cpu" : "cuda:" + std::to_string(device.index);
}

std::string why_unusable(Device device) {
  try {
    (void)make_backend(device);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace trasmuon
