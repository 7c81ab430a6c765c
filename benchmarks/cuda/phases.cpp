// SPDX-License-Identifier: Apache-2.0
#include "cuda/phases.h"

#include <cublas_v2.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "cuda/timing.h"
#include "trasmuon/sharded_step.h"

namespace trasmuon::bench {
namespace {

constexpr int kWarmUp = 5;
// In the order of a step.
constexpr std::array kParts = {"momentum", "exchange",  "pack",     "exchange", "orthogonalize",
                               "exchange", "row_scale", "exchange", "apply"};

class Buffer {
 public:
  explicit Buffer(std::size_t bytes) { check_cuda(cudaMalloc(&data_, std::max<std::size_t>(bytes, 1))); }
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  ~Buffer() { (void)cudaFree(data_); }
  std::byte* bytes() const { return static_cast<std::byte*>(data_); }
  double* doubles() const { return static_cast<double*>(data_); }

 private:
  void* data_ = nullptr;
};

/// A rank's rows of a matrix; all ranks but the last have equally many.
struct Rows {
  std::int64_t first, count;
};
Rows rows_of(const TensorView& whole, int rank, int ranks) {
  const std::int64_t all = whole.shape[0], each = (all + ranks - 1) / ranks, first = std::min(all, rank * each);
  return {first, std::min(all - first, each)};
}

TensorView part_of(const TensorView& whole, Rows rows) {
  const std::int64_t cols = whole.shape[1];
  auto* data = static_cast<std::byte*>(whole.data) + static_cast<std::size_t>(rows.first * cols) * size_of(whole.dtype);
  return {.data = data, .dtype = whole.dtype, .shape = {rows.count, cols}};
}

struct Rank {
  Optimizer optimizer;
  std::vector<TensorView> gradients;
  std::optional<ShardedStep> step = {};
  std::optional<Buffer> sums = {}, norms = {}, rows = {}, gathered = {}, directions = {}, returned = {};
};

class RanksOnOneGpu {
 public:
  RanksOnOneGpu(std::span<const NamedMatrix> matrices, const CudaParameters& parameters, int ranks, DType wire) {
    std::vector<std::int64_t> rows;
    for (int r = 0; r < ranks; ++r) {
      for (const TensorView& weight : parameters.weights()) rows.push_back(rows_of(weight, r, ranks).count);
    }
    for (int r = 0; r < ranks; ++r) {
      Group group{TrasMuonOptions{}, {}};
      std::vector<TensorView> gradients;
      for (std::size_t i = 0; i < matrices.size(); ++i) {
        const TensorView& weight = parameters.weights()[i];
        const Rows here = rows_of(weight, r, ranks);
        group.parameters.push_back({.name = matrices[i].name,
                                    .weight = part_of(weight, here),
                                    .device = Device::cuda(0),
                                    .shard = RowShard{here.first, weight.shape[0]}});
        gradients.push_back(part_of(parameters.gradients()[i], here));
      }
      ranks_.push_back(std::make_unique<Rank>(Rank{Optimizer({std::move(group)}), std::move(gradients)}));
      Rank& rank = *ranks_.back();
      rank.step.emplace(rank.optimizer, ShardedStepOptions{r, ranks, rows, wire});
      const ExchangeSizes& sizes = rank.step->sizes();
      rank.sums.emplace(sizes.sums * sizeof(double));
      rank.norms.emplace(sizes.norms * sizeof(double));
      rank.rows.emplace(sizes.rows());
      rank.gathered.emplace(sizes.gathered());
      rank.directions.emplace(sizes.directions());
      rank.returned.emplace(sizes.returned());
    }
    if (cublasCreate(&cublas_) != CUBLAS_STATUS_SUCCESS) throw Error("cuBLAS: cannot be initialized");
  }
  RanksOnOneGpu(const RanksOnOneGpu&) = delete;
  RanksOnOneGpu& operator=(const RanksOnOneGpu&) = delete;
  ~RanksOnOneGpu() { (void)cublasDestroy(cublas_); }

  /// Takes a step; mark() is called between its parts.
  template <class Mark>
  void step(Mark&& mark) {
    const auto each = [&](auto&& call) {
      for (auto& rank : ranks_) call(*rank, rank->step->sizes());
      mark();
    };
    each([](Rank& r, auto& s) { r.step->momentum(r.gradients, {r.sums->doubles(), s.sums}); });
    all_reduce(&Rank::sums, ranks_[0]->step->sizes().sums);
    mark();
    each([](Rank& r, auto& s) { r.step->pack({r.sums->doubles(), s.sums}, {r.rows->bytes(), s.rows()}); });
    all_to_all(&Rank::rows, &ExchangeSizes::to_owners, &Rank::gathered, &ExchangeSizes::from_holders);
    mark();
    each([](Rank& r, auto& s) {
      r.step->orthogonalize({r.gathered->bytes(), s.gathered()}, {r.directions->bytes(), s.directions()});
    });
    all_to_all(&Rank::directions, &ExchangeSizes::to_holders, &Rank::returned, &ExchangeSizes::from_owners);
    mark();
    each([](Rank& r, auto& s) {
      r.step->row_scale({r.returned->bytes(), s.returned()}, {r.norms->doubles(), s.norms});
    });
    all_reduce(&Rank::norms, ranks_[0]->step->sizes().norms);
    mark();
    each([](Rank& r, auto& s) { r.step->apply({r.norms->doubles(), s.norms}); });
  }

 private:
  using Memory = std::optional<Buffer> Rank::*;
  using Sizes = std::vector<std::size_t> ExchangeSizes::*;

  void all_reduce(Memory numbers, std::size_t count) {
    const double one = 1;
    double* sum = (ranks_[0].get()->*numbers)->doubles();
    for (std::size_t r = 1; r < ranks_.size(); ++r) {
      const double* part = (ranks_[r].get()->*numbers)->doubles();
      if (cublasDaxpy(cublas_, static_cast<int>(count), &one, part, 1, sum, 1) != CUBLAS_STATUS_SUCCESS)
        throw Error("cuBLAS: adding up failed");
    }
    for (std::size_t r = 1; r < ranks_.size(); ++r)
      copy((ranks_[r].get()->*numbers)->bytes(), (ranks_[0].get()->*numbers)->bytes(), count * sizeof(double));
  }

  void all_to_all(Memory from, Sizes sent, Memory to, Sizes received) {
    for (std::size_t s = 0; s < ranks_.size(); ++s) {
      std::byte* source = (ranks_[s].get()->*from)->bytes();
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        const std::vector<std::size_t>& sizes = ranks_[r]->step->sizes().*received;
        std::byte* target = (ranks_[r].get()->*to)->bytes();
        for (std::size_t before = 0; before < s; ++before) target += sizes[before];
        copy(target, source, sizes[s]);
        source += (ranks_[s]->step->sizes().*sent)[r];
      }
    }
  }

  static void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice));
  }

  std::vector<std::unique_ptr<Rank>> ranks_;
  cublasHandle_t cublas_ = nullptr;
};

}  // namespace

std::vector<PhaseTime> time_phases(std::span<const NamedMatrix> matrices, const CudaParameters& parameters, int ranks,
                                   DType wire, int repeats) {
  RanksOnOneGpu world(matrices, parameters, ranks, wire);
  for (int i = 0; i < kWarmUp; ++i) world.step([] {});
  check_cuda(cudaDeviceSynchronize());
  std::array<cudaEvent_t, kParts.size() + 1> marks;
  for (cudaEvent_t& mark : marks) check_cuda(cudaEventCreate(&mark));
  std::vector<PhaseTime> times = {{"phases", {}},        {"exchanges", {}}, {"momentum", {}}, {"pack", {}},
                                  {"orthogonalize", {}}, {"row_scale", {}}, {"apply", {}}};
  for (int i = 0; i < repeats; ++i) {
    std::size_t next = 0;
    check_cuda(cudaEventRecord(marks[next++]));
    world.step([&] { check_cuda(cudaEventRecord(marks[next++])); });
    check_cuda(cudaEventSynchronize(marks.back()));
    double phases = 0, exchanges = 0;
    for (std::size_t part = 0; part < kParts.size(); ++part) {
      float elapsed = 0;
      check_cuda(cudaEventElapsedTime(&elapsed, marks[part], marks[part + 1]));
      const auto named = std::find_if(times.begin(), times.end(), [&](auto& t) { return t.name == kParts[part]; });
      (named == times.end() ? exchanges : phases) += static_cast<double>(elapsed);
      if (named != times.end()) named->milliseconds.values.push_back(static_cast<double>(elapsed));
    }
    times[0].milliseconds.values.push_back(phases);
    times[1].milliseconds.values.push_back(exchanges);
  }
  for (cudaEvent_t mark : marks) check_cuda(cudaEventDestroy(mark));
  return times;
}

}  // namespace trasmuon::bench
