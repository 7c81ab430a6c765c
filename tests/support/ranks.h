// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/model.h"

// Ranks in one process: the sums and exchanges that a ShardedStep needs are loops over buffers.
namespace trasmuon::test {

/// A parameter before it is cut.
struct WholeParameter {
  std::string name;
  Shape shape;
  std::size_t group = 0;
  Layout layout = Layout::automatic;
  std::vector<std::int64_t> row_blocks = {};
  bool sharded = true;
};

/// rows[r][p]: how many rows of parameter p rank r holds.
using Cuts = std::vector<std::vector<std::int64_t>>;

/// Cuts as torch.chunk does: equal parts of ceil(rows / ranks), the last ones smaller or empty.
inline Cuts even_cuts(const std::vector<WholeParameter>& model, int ranks) {
  Cuts cuts(static_cast<std::size_t>(ranks));
  for (const WholeParameter& p : model) {
    std::int64_t left = p.shape[0];
    const std::int64_t part = (left + ranks - 1) / ranks;
    for (auto& rank : cuts) {
      rank.push_back(std::min(part, left));
      left -= rank.back();
    }
  }
  return cuts;
}

/// Cuts anywhere, often leaving ranks without rows.
inline Cuts random_cuts(const std::vector<WholeParameter>& model, int ranks, std::mt19937_64& rng) {
  Cuts cuts(static_cast<std::size_t>(ranks));
  for (const WholeParameter& p : model) {
    std::vector<std::int64_t> bounds{0, p.shape[0]};
    for (int r = 1; r < ranks; ++r) bounds.push_back(std::uniform_int_distribution<std::int64_t>(0, p.shape[0])(rng));
    std::sort(bounds.begin(), bounds.end());
    for (std::size_t r = 0; r < cuts.size(); ++r) cuts[r].push_back(bounds[r + 1] - bounds[r]);
  }
  return cuts;
}

/// The same weights and gradients on several ranks and, as `whole`, in one optimizer.
template <class T, class G = T>
class Ranks {
 public:
  using Tensors = std::vector<std::vector<G>>;

  struct Rank {
    std::vector<std::vector<T>> weights;
    std::vector<Parameter> parameters;
    std::optional<Optimizer> optimizer;
    std::optional<ShardedStep> step;
    std::vector<double> sums, norms;
    std::vector<std::byte> rows, gathered, directions, returned;
    std::vector<TensorView> gradients;
  };

  Ranks(std::vector<WholeParameter> model, const std::vector<Options>& groups, Cuts cuts, DType wire = DType::f32,
        OptimizerOptions settings = {}, Device device = Device::cpu())
      : model_(std::move(model)), cuts_(std::move(cuts)), ranks_(cuts_.size()) {
    std::mt19937_64 rng(7);
    std::vector<Parameter> parameters;
    for (const WholeParameter& p : model_) whole_weights.push_back(random_values<T>(p.shape.elements(), rng, 0.1));
    for (std::size_t p = 0; p < model_.size(); ++p)
      parameters.push_back(parameter(p, whole_weights[p].data(), model_[p].shape, device));
    whole.emplace(grouped(parameters, groups), settings);
    std::vector<std::int64_t> all_rows;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (std::size_t p = 0; p < model_.size(); ++p) all_rows.push_back(rows_of(r, p));
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      Rank& rank = ranks_[r];
      for (std::size_t p = 0; p < model_.size(); ++p) rank.weights.push_back(part<T>(whole_weights[p], r, p));
      for (std::size_t p = 0; p < model_.size(); ++p) {
        rank.parameters.push_back(parameter(p, rank.weights[p].data(), local_shape(r, p), device));
        if (model_[p].sharded) rank.parameters.back().shard = RowShard{first_row(r, p), model_[p].shape[0]};
      }
      rank.optimizer.emplace(grouped(rank.parameters, groups), settings);
      rank.step.emplace(*rank.optimizer,
                        ShardedStepOptions{static_cast<int>(r), static_cast<int>(ranks_.size()), all_rows, wire});
      const ExchangeSizes& sizes = rank.step->sizes();
      rank.sums.resize(sizes.sums);
      rank.norms.resize(sizes.norms);
      rank.rows.resize(sizes.rows());
      rank.gathered.resize(sizes.gathered());
      rank.directions.resize(sizes.directions());
      rank.returned.resize(sizes.returned());
    }
  }

  Tensors random_gradients(std::mt19937_64& rng) const {
    Tensors gradients;
    for (const WholeParameter& p : model_) gradients.push_back(random_values<G>(p.shape.elements(), rng));
    return gradients;
  }

  void step_whole(const Tensors& gradients) {
    std::vector<TensorView> views;
    for (std::size_t p = 0; p < model_.size(); ++p)
      views.push_back(gradients[p].empty() ? no_gradient() : view(gradients[p].data(), model_[p].shape));
    whole->step(views);
  }

  /// missing(rank, parameter): that rank has no gradient.
  void begin(const Tensors& gradients, const std::function<bool(std::size_t, std::size_t)>& missing = {}) {
    parts_.clear();
    parts_.reserve(ranks_.size() * model_.size());
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      ranks_[r].gradients.clear();
      for (std::size_t p = 0; p < model_.size(); ++p) {
        const bool none = gradients[p].empty() || (missing && missing(r, p));
        parts_.push_back(none ? std::vector<G>{} : part<G>(gradients[p], r, p));
        ranks_[r].gradients.push_back(none ? no_gradient() : view(parts_.back().data(), local_shape(r, p)));
      }
    }
    for (Rank& rank : ranks_) rank.step->momentum(rank.gradients, rank.sums);
    all_reduce(&Rank::sums);
  }
  void pack() {
    for (Rank& rank : ranks_) rank.step->pack(rank.sums, rank.rows);
    all_to_all(&Rank::rows, &Rank::gathered, false);
  }
  void orthogonalize() {
    for (Rank& rank : ranks_) rank.step->orthogonalize(rank.gathered, rank.directions);
    all_to_all(&Rank::directions, &Rank::returned, true);
  }
  void row_scale() {
    for (Rank& rank : ranks_) rank.step->row_scale(rank.returned, rank.norms);
    all_reduce(&Rank::norms);
  }
  void apply() {
    for (Rank& rank : ranks_) rank.step->apply(rank.norms);
  }
  void step(const Tensors& gradients, const std::function<bool(std::size_t, std::size_t)>& missing = {}) {
    begin(gradients, missing);
    pack();
    orthogonalize();
    row_scale();
    apply();
  }

  /// The parameter's weight, put together from its shards.
  std::vector<T> weight(std::size_t p) const {
    if (!model_[p].sharded) return ranks_[0].weights[p];
    std::vector<T> all;
    for (const Rank& rank : ranks_) all.insert(all.end(), rank.weights[p].begin(), rank.weights[p].end());
    return all;
  }
  std::vector<Rank>& ranks() { return ranks_; }
  const std::vector<WholeParameter>& model() const { return model_; }

  std::vector<std::vector<T>> whole_weights;
  std::optional<Optimizer> whole;

 private:
  std::int64_t rows_of(std::size_t r, std::size_t p) const {
    return model_[p].sharded ? cuts_[r][p] : model_[p].shape[0];
  }
  std::int64_t first_row(std::size_t r, std::size_t p) const {
    std::int64_t first = 0;
    for (std::size_t k = 0; k < r && model_[p].sharded; ++k) first += cuts_[k][p];
    return first;
  }
  Shape local_shape(std::size_t r, std::size_t p) const {
    std::vector<std::int64_t> dims(model_[p].shape.dims().begin(), model_[p].shape.dims().end());
    dims[0] = rows_of(r, p);
    return Shape(dims);
  }
  template <class E>
  std::vector<E> part(const std::vector<E>& all, std::size_t r, std::size_t p) const {
    const std::int64_t row = model_[p].shape.elements() / model_[p].shape[0];
    const auto first = all.begin() + first_row(r, p) * row;
    return std::vector<E>(first, first + rows_of(r, p) * row);
  }
  Parameter parameter(std::size_t p, T* data, Shape shape, Device device) const {
    return {.name = model_[p].name,
            .weight = view(data, shape),
            .layout = model_[p].layout,
            .row_blocks = model_[p].row_blocks,
            .device = device};
  }
  std::vector<Group> grouped(const std::vector<Parameter>& parameters, const std::vector<Options>& options) const {
    std::vector<Group> groups;
    for (const Options& o : options) groups.push_back({o, {}});
    for (std::size_t p = 0; p < parameters.size(); ++p) groups[model_[p].group].parameters.push_back(parameters[p]);
    return groups;
  }

  void all_reduce(std::vector<double> Rank::*buffer) {
    std::vector<double> sum = ranks_[0].*buffer;
    for (std::size_t r = 1; r < ranks_.size(); ++r) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += (ranks_[r].*buffer)[i];
    }
    for (Rank& rank : ranks_) rank.*buffer = sum;
  }
  void all_to_all(std::vector<std::byte> Rank::*from, std::vector<std::byte> Rank::*to, bool back) {
    const auto sent = [&](std::size_t r) -> const std::vector<std::size_t>& {
      const ExchangeSizes& sizes = ranks_[r].step->sizes();
      return back ? sizes.to_holders : sizes.to_owners;
    };
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      auto target = (ranks_[r].*to).begin();
      for (std::size_t s = 0; s < ranks_.size(); ++s) {
        const auto first =
            std::accumulate(sent(s).begin(), sent(s).begin() + static_cast<std::ptrdiff_t>(r), std::size_t{0});
        target = std::copy_n((ranks_[s].*from).begin() + static_cast<std::ptrdiff_t>(first), sent(s)[r], target);
      }
    }
  }

  std::vector<WholeParameter> model_;
  Cuts cuts_;
  std::vector<Rank> ranks_;
  Tensors parts_;
};

}  // namespace trasmuon::test
