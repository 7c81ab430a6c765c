// SPDX-License-Identifier: Apache-2.0
#include "workload.h"

#include <atomic>
#include <thread>

namespace trasmuon::bench {
namespace {

std::uint64_t hash(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Mean 0, variance 1: the sum of four uniform 16-bit numbers.
float nearly_gaussian(std::uint64_t bits) {
  constexpr double kDeviation = 37837.2;  // of that sum: 65536 sqrt(4 / 12)
  const auto sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
  return static_cast<float>((static_cast<double>(sum) - 2 * 65535.0) / kDeviation);
}

}  // namespace

std::vector<NamedMatrix> gpt2_small(int layers) {
  std::vector<NamedMatrix> matrices;
  for (int layer = 0; layer < layers; ++layer) {
    const std::string prefix = "h." + std::to_string(layer);
    matrices.push_back({prefix + ".attn.qkv", 2304, 768});
    matrices.push_back({prefix + ".attn.proj", 768, 768});
    matrices.push_back({prefix + ".mlp.up", 3072, 768});
    matrices.push_back({prefix + ".mlp.down", 768, 3072});
  }
  return matrices;
}

MatrixSet::MatrixSet(std::span<const NamedMatrix> matrices) : matrices_(matrices.begin(), matrices.end()) {
  for (const NamedMatrix& matrix : matrices_) values_.emplace_back(static_cast<std::size_t>(matrix.rows * matrix.cols));
}

void MatrixSet::fill(double deviation, std::uint64_t seed) {
  std::vector<std::uint64_t> counters{hash(seed)};
  for (const auto& matrix : values_) counters.push_back(counters.back() + matrix.size());
  std::atomic<std::size_t> next = 0;
  const auto fill_some = [&] {
    for (std::size_t k; (k = next++) < values_.size();) {
      std::uint64_t counter = counters[k];
      for (float& value : values_[k]) value = static_cast<float>(deviation) * nearly_gaussian(hash(counter++));
    }
  };
  std::vector<std::jthread> threads;  // a GPU's models have billions of values
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) threads.emplace_back(fill_some);
  fill_some();
}

void MatrixSet::scale_columns(std::int64_t offset, std::int64_t every, float factor) {
  for (std::size_t index = 0; index < values_.size(); ++index) {
    const auto [name, rows, cols] = matrices_[index];
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = offset; j < cols; j += every)
        values_[index][static_cast<std::size_t>(i * cols + j)] *= factor;
    }
  }
}

std::vector<TensorView> MatrixSet::views() {
  std::vector<TensorView> list;
  for (std::size_t index = 0; index < values_.size(); ++index) {
    list.push_back(view(values_[index].data(), {matrices_[index].rows, matrices_[index].cols}));
  }
  return list;
}

std::int64_t MatrixSet::elements() const {
  std::int64_t sum = 0;
  for (const NamedMatrix& matrix : matrices_) sum += matrix.rows * matrix.cols;
  return sum;
}

void fill_gradient(MatrixSet& gradient, int t) {
  gradient.fill(0.01, static_cast<std::uint64_t>(1000 + t));
  if (t > 1) gradient.scale_columns(t, 41, 8.0f);
}

}  // namespace trasmuon::bench
