// SPDX-License-Identifier: Apache-2.0
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <dlfcn.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>

#include "lab/records/blas.h"
#include "peers/libtorch_trasmuon.h"
#include "peers/peer.h"

namespace trasmuon::bench {
namespace {

constexpr const char* kWaitPolicy = "OMP_WAIT_POLICY";

torch::Tensor tensor_of(const TensorView& view) {
  return torch::from_blob(view.data, {view.shape[0], view.shape[1]}, torch::kFloat32);
}

std::vector<torch::Tensor> tensors_of(std::span<const TensorView> views) {
  std::vector<torch::Tensor> tensors;
  for (const TensorView& view : views) tensors.push_back(tensor_of(view));
  return tensors;
}

/// OpenBLAS with threads of its own does not follow at::set_num_threads; MKL does.
void set_openblas_threads(int threads) {
  if (auto* set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))) set(threads);
}

class LibTorchPeer final : public Peer {
 public:
  LibTorchPeer(std::span<const TensorView> weights, const TrasMuonOptions& options, int threads)
      : optimizer_(tensors_of(weights), options) {
    at::set_num_threads(threads);
    set_openblas_threads(threads);
  }

  void step(std::span<const TensorView> gradients) override { optimizer_.step(tensors_of(gradients)); }

  double matmul_rate(std::int64_t size, int repeats) override {
    const torch::Tensor a = torch::randn({size, size}), b = torch::randn({size, size});
    torch::Tensor c = torch::mm(a, b);
    double best = std::numeric_limits<double>::infinity();
    for (int repeat = 0; repeat < repeats; ++repeat) {
      const auto start = std::chrono::steady_clock::now();
      torch::mm_out(c, a, b);
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return 2.0 * static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size) / best;
  }

  std::string slow_blas() const override {
    const lab::Blas blas = lab::find_blas();
    return blas.kind == lab::Blas::Kind::reference ? lab::to_string(blas) : "";
  }

  std::string description() const override {
    return "LibTorch " TORCH_VERSION ", " + lab::find_blas().name + ", " + kWaitPolicy + "=" + std::getenv(kWaitPolicy);
  }

 private:
  LibTorchTrasMuon optimizer_;
};

}  // namespace

// LibTorch's OpenMP threads spin after each elementwise operation. Where its BLAS has threads
// of its own, as on Debian, they spin on the cores that the next product needs, and LibTorch
// loses up to half of its speed. OpenMP reads its policy only when it is loaded.
void prepare_process(char** argv) {
  if (std::getenv(kWaitPolicy) != nullptr) return;
  setenv(kWaitPolicy, "PASSIVE", 1);
  execv("/proc/self/exe", argv);
}

std::unique_ptr<Peer> make_peer(std::span<const TensorView> weights, const TrasMuonOptions& options, int threads) {
  return std::make_unique<LibTorchPeer>(weights, options, threads);
}

}  // namespace trasmuon::bench
