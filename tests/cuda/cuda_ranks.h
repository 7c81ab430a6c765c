// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "cuda_memory.h"
#include "support/ranks.h"

namespace trasmuon::test {

/// The ranks of `host` again, with everything on the GPU. The buffers travel through the host.
template <class T>
class CudaRanks {
 public:
  CudaRanks(Ranks<T>& host, const std::vector<Options>& groups, DType wire, CudaMemory& memory)
      : host_(host), memory_(memory), ranks_(host.ranks().size()) {
    std::vector<std::int64_t> rows;
    for (auto& rank : host.ranks()) {
      for (const Parameter& p : rank.parameters) rows.push_back(p.weight.shape[0]);
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      Rank& rank = ranks_[r];
      std::vector<Group> parameters;
      for (const Options& o : groups) parameters.push_back({o, {}});
      for (std::size_t p = 0; p < host.model().size(); ++p) {
        Parameter parameter = host.ranks()[r].parameters[p];
        const std::vector<T>& weight = host.ranks()[r].weights[p];
        rank.weights.push_back(allocate<T>(weight.size()));
        memory.write(rank.weights[p], weight.data(), weight.size() * sizeof(T));
        rank.gradients.push_back(allocate<T>(weight.size()));
        parameter.weight.data = rank.weights[p];
        parameter.device = Device::cuda(0);
        parameters[host.model()[p].group].parameters.push_back(parameter);
      }
      rank.optimizer.emplace(parameters);
      rank.step.emplace(*rank.optimizer,
                        ShardedStepOptions{static_cast<int>(r), static_cast<int>(ranks_.size()), rows, wire});
      const ExchangeSizes& sizes = rank.step->sizes();
      rank.sums = {allocate<double>(sizes.sums), sizes.sums};
      rank.norms = {allocate<double>(sizes.norms), sizes.norms};
      rank.rows = {allocate<std::byte>(sizes.rows()), sizes.rows()};
      rank.gathered = {allocate<std::byte>(sizes.gathered()), sizes.gathered()};
      rank.directions = {allocate<std::byte>(sizes.directions()), sizes.directions()};
      rank.returned = {allocate<std::byte>(sizes.returned()), sizes.returned()};
    }
  }

  /// Takes the step that the ranks of the host have begun.
  void step() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      std::vector<TensorView> views;
      for (std::size_t p = 0; p < host_.model().size(); ++p) {
        TensorView view = host_.ranks()[r].gradients[p];
        if (view) {
          memory_.write(ranks_[r].gradients[p], view.data, static_cast<std::size_t>(view.shape.elements()) * sizeof(T));
          view.data = ranks_[r].gradients[p];
        }
        views.push_back(view);
      }
      ranks_[r].step->momentum(views, ranks_[r].sums);
    }
    all_reduce(&Rank::sums);
    for (Rank& rank : ranks_) rank.step->pack(rank.sums, rank.rows);
    all_to_all(&Rank::rows, &Rank::gathered, false);
    for (Rank& rank : ranks_) rank.step->orthogonalize(rank.gathered, rank.directions);
    all_to_all(&Rank::directions, &Rank::returned, true);
    for (Rank& rank : ranks_) rank.step->row_scale(rank.returned, rank.norms);
    all_reduce(&Rank::norms);
    for (Rank& rank : ranks_) rank.step->apply(rank.norms);
  }

  /// Largest distance of a weight from the host's.
  double distance() {
    double largest = 0;
    const std::vector<T> ours = weights();
    auto our = ours.begin();
    for (auto& rank : host_.ranks()) {
      for (const std::vector<T>& expected : rank.weights) {
        for (const T& value : expected) {
          const double apart = std::abs(to_double(*our++) - to_double(value));
          largest = std::max(largest, std::isnan(apart) ? INFINITY : apart);
        }
      }
    }
    return largest;
  }
  /// The weights of all ranks, one after the other.
  std::vector<T> weights() {
    std::vector<T> all;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (std::size_t p = 0; p < host_.model().size(); ++p) {
        const std::vector<T> part = memory_.fetch<T>(ranks_[r].weights[p], host_.ranks()[r].weights[p].size());
        all.insert(all.end(), part.begin(), part.end());
      }
    }
    return all;
  }
  Optimizer& optimizer(std::size_t rank) { return *ranks_[rank].optimizer; }

 private:
  struct Rank {
    std::vector<T*> weights, gradients;
    std::optional<Optimizer> optimizer;
    std::optional<ShardedStep> step;
    std::span<double> sums, norms;
    std::span<std::byte> rows, gathered, directions, returned;
  };

  template <class E>
  E* allocate(std::size_t count) {
    return static_cast<E*>(memory_.allocate(std::max<std::size_t>(count, 1) * sizeof(E)));
  }
  void all_reduce(std::span<double> Rank::*buffer) {
    std::vector<double> sum((ranks_[0].*buffer).size());
    for (Rank& rank : ranks_) {
      const std::vector<double> part = memory_.fetch<double>((rank.*buffer).data(), sum.size());
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
    }
    for (Rank& rank : ranks_) memory_.write((rank.*buffer).data(), sum.data(), sum.size() * sizeof(double));
  }
  void all_to_all(std::span<std::byte> Rank::*from, std::span<std::byte> Rank::*to, bool back) {
    std::vector<std::vector<std::byte>> sent, received(ranks_.size());
    for (Rank& rank : ranks_) sent.push_back(memory_.fetch<std::byte>((rank.*from).data(), (rank.*from).size()));
    for (std::size_t s = 0; s < ranks_.size(); ++s) {
      const ExchangeSizes& sizes = ranks_[s].step->sizes();
      auto first = sent[s].begin();
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        const auto last = first + static_cast<std::ptrdiff_t>((back ? sizes.to_holders : sizes.to_owners)[r]);
        received[r].insert(received[r].end(), first, last);
        first = last;
      }
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      memory_.write((ranks_[r].*to).data(), received[r].data(), received[r].size());
  }

  Ranks<T>& host_;
  CudaMemory& memory_;
  std::vector<Rank> ranks_;
};

inline std::vector<WholeParameter> model_on_gpu() {
  return {{.name = "plain", .shape = {67, 130}},     {.name = "qkv", .shape = {48, 40}, .row_blocks = {11, 5, 32}},
          {.name = "experts", .shape = {3, 24, 20}}, {.name = "convolution", .shape = {24, 5, 3, 3}},
          {.name = "one row", .shape = {1, 40}},     {.name = "wide", .shape = {9, 1100}},
          {.name = "tall", .shape = {200, 36}},      {.name = "bias", .shape = {33}, .group = 1}};
}

}  // namespace trasmuon::test
