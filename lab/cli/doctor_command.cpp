// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <link.h>
#include <trasmuon/device.h>
#include <trasmuon/threads.h>
#include <trasmuon/version.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "lab/cli/commands.h"
#include "lab/data/images/decode.h"
#include "lab/data/images/image_set.h"
#include "lab/data/inflate.h"
#include "lab/data/text/default_text.h"
#include "lab/recipe/files.h"
#include "lab/records/blas.h"
#include "lab/records/machine.h"
#include "lab/runner/console.h"
#include "lab/study/names.h"
#include "lab/study/registry.h"

namespace trasmuon::lab {
namespace {

namespace fs = std::filesystem;

/// The file of a shared library that this process has loaded, by the beginning of its name.
std::string loaded_library(std::string_view beginning) {
  struct Search {
    std::string_view beginning;
    std::string found;
  } search{beginning, {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        const fs::path file = info->dlpi_name;
        if (!file.filename().string().starts_with(wanted.beginning)) return 0;
        std::error_code error;
        const fs::path real = fs::canonical(file, error);
        wanted.found = error ? file.string() : real.string();
        return 1;
      },
      &search);
  return search.found;
}

std::string instruction_sets() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  std::string text = avx512 ? "AVX-512"
                     : avx2 ? "AVX2 with FMA (AVX-512 would be faster)"
                            : "SSE2 only: several times slower";
#else
  std::string text = "the compiler's baseline only: several times slower than AVX2";
#endif
  if (const char* limit = std::getenv("TRASMUON_ISA")) text += fmt::format("; TRASMUON_ISA limits it to {}", limit);
  return text;
}

std::string program_on_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path file = fs::path(folder) / name;
    if (::access(file.c_str(), X_OK) == 0) return file.string();
  }
  return {};
}

std::string libtorch() {
  const std::string file = loaded_library("libtorch_cpu.so");
  if (file.empty()) {
    return "none: the studies pinn, language and vision cannot run. On Debian `tools/setup lab`, elsewhere "
           "-DTorch_DIR=...; then build again";
  }
  return fmt::format("{} ({})", TRASMUON_LAB_LIBTORCH, file);
}

std::string blas() {
  const Blas found = find_blas();
  if (found.kind == Blas::Kind::none) {
    return loaded_library("libtorch_cpu.so").empty() ? "not needed without LibTorch" : "inside LibTorch";
  }
  const std::string slow = advice(found);
  return to_string(found) + (slow.empty() ? "" : ": " + slow);
}

std::string cuda() {
  const std::string reason = why_unusable(Device::cuda(0));
  return (reason.empty() ? "the library can step on cuda:0" : "none for the library: " + reason) +
         "; language and vision run there with device = cuda and a LibTorch for CUDA";
}

std::string default_text_state() {
  const fs::path folder = default_text_folder();
  if (folder.empty()) return fmt::format("not installed. On Debian: apt-get install {}", kDefaultTextPackage);
  return folder.string();
}

std::string default_images_state() {
  std::error_code error;
  if (fs::is_directory(kFashionMnistFolder, error)) return kFashionMnistFolder;
  return "not installed. On Debian: apt-get install dataset-fashion-mnist";
}

std::string codecs() {
  std::vector<std::string> have, lack;
  (kHasGzip ? have : lack).emplace_back("gzip");
  (kHasJpeg ? have : lack).emplace_back("JPEG");
  (kHasPng ? have : lack).emplace_back("PNG");
  std::string text = have.empty() ? "none" : joined(have, ", ");
  if (!lack.empty()) text += fmt::format("; not {}: on Debian `tools/setup lab`, then build again", joined(lack, ", "));
  return text;
}

void line(const char* what, const std::string& value) { print(stdout, "{:<14} {}\n", what, value); }

}  // namespace

int doctor_command() {
  line("trasmuon", TRASMUON_VERSION);
  line("compiler", TRASMUON_LAB_COMPILER);
  line("cpu", cpu_model());
  line("kernels", instruction_sets());
  line("threads", fmt::format("{} of {} usable cores (TRASMUON_NUM_THREADS)", num_threads(), usable_cores()));
  line("libtorch", libtorch());
  line("blas", blas());
  line("cuda", cuda());
  const std::string gnuplot = program_on_path("gnuplot");
  line("gnuplot",
       gnuplot.empty() ? "not found: reports have no figures. On Debian: apt-get install gnuplot-nox" : gnuplot);
  line("default text", default_text_state());
  line("default images", default_images_state());
  line("image files", codecs());
  std::vector<std::string> folders, names;
  for (const fs::path& folder : recipe_folders()) folders.push_back(folder.string());
  for (const Study* study : studies()) names.emplace_back(study->name());
  line("recipes", folders.empty() ? "no folder found: give the path of a recipe, or set TRASMUON_RECIPES"
                                  : fmt::format("{} in {}", known_recipes().size(), joined(folders, ", ")));
  line("studies", joined(names, ", "));
  return 0;
}

}  // namespace trasmuon::lab
