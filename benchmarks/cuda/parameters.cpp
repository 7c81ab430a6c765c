// SPDX-License-Identifier: Apache-2.0
#include "cuda/parameters.h"

#include <cstring>
#include <utility>

#include "cuda/timing.h"
#include "trasmuon/half.h"

namespace trasmuon::bench {
namespace {

template <class T, class Convert>
std::vector<std::byte> bytes_of(std::span<const float> values, Convert convert) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T value = convert(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

std::vector<std::byte> converted(std::span<const float> values, DType dtype) {
  if (dtype == DType::bf16) return bytes_of<bf16>(values, to_bf16);
  if (dtype == DType::f16) return bytes_of<f16>(values, to_f16);
  return bytes_of<float>(values, [](float value) { return value; });
}

}  // namespace

CudaParameters::CudaParameters(std::span<const NamedMatrix> matrices, DType dtype)
    : matrices_(matrices.begin(), matrices.end()) {
  MatrixSet values(matrices);
  values.fill(1, 1);
  weights_ = upload(values, dtype);
  values.fill(1, 2);
  gradients_ = upload(values, dtype);
}

Optimizer CudaParameters::optimizer(const Options& options) const {
  Group group{options, {}};
  for (std::size_t i = 0; i < matrices_.size(); ++i) {
    group.parameters.push_back({.name = matrices_[i].name, .weight = weights_[i], .device = Device::cuda(0)});
  }
  return Optimizer({std::move(group)});
}

void CudaParameters::Free::operator()(void* block) const { (void)cudaFree(block); }

std::vector<TensorView> CudaParameters::upload(MatrixSet& matrix_set, DType dtype) {
  std::vector<TensorView> views = matrix_set.views();
  for (std::size_t i = 0; i < views.size(); ++i) {
    const std::vector<std::byte> bytes = converted(matrix_set.values(i), dtype);
    void* data = nullptr;
    check_cuda(cudaMalloc(&data, bytes.size()));
    blocks_.emplace_back(data);
    check_cuda(cudaMemcpy(data, bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
    views[i].data = data;
    views[i].dtype = dtype;
  }
  return views;
}

}  // namespace trasmuon::bench
