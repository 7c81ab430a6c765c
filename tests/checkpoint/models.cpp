// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/models.h"

#include <cstring>
#include <limits>
#include <random>

namespace trasmuon::test {
namespace {

/// Returns a number in [-1, 1), the same on every platform.
double uniform(std::mt19937& random) { return random() * 0x1p-31 - 1; }

std::size_t bytes_of(const TensorView& tensor) {
  return static_cast<std::size_t>(tensor.shape.elements()) * size_of(tensor.dtype);
}

Bytes copy_of(const TensorView& tensor) {
  const auto* first = static_cast<const std::byte*>(tensor.data);
  return {first, first + bytes_of(tensor)};
}

template <class T>
void store(Bytes& bytes, std::size_t index, T value) {
  std::memcpy(bytes.data() + index * sizeof value, &value, sizeof value);
}

Bytes random_tensor(DType dtype, const Shape& shape, std::uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(static_cast<std::size_t>(shape.elements()) * size_of(dtype));
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape.elements()); ++i) {
    const double value = uniform(random);
    const auto narrow = static_cast<float>(value);
    switch (dtype) {
      case DType::f64: store(bytes, i, value); break;
      case DType::f32: store(bytes, i, narrow); break;
      case DType::bf16: store(bytes, i, to_bf16(narrow)); break;
      case DType::f16: store(bytes, i, to_f16(narrow)); break;
      case DType::i64: break;
    }
  }
  return bytes;
}

Parameter parameter(std::string name, DType dtype, Shape shape) {
  return {.name = std::move(name), .weight = {.dtype = dtype, .shape = shape}};
}

}  // namespace

Model::Model(std::vector<Group> groups) {
  for (Group& group : groups) {
    for (Parameter& p : group.parameters) {
      weights_.push_back(random_tensor(p.weight.dtype, p.weight.shape, static_cast<std::uint32_t>(weights_.size())));
      p.weight.data = weights_.back().data();
    }
  }
  optimizer_.emplace(std::move(groups), OptimizerOptions{.master_weights = true});
}

void Model::train(int step) {
  std::vector<Bytes> memory;
  std::vector<TensorView> gradients;
  for (std::size_t i = 0; i < optimizer_->parameter_count(); ++i) {
    const TensorView& weight = optimizer_->parameter(i).weight;
    const DType dtype = weight.dtype == DType::f64 ? DType::f64 : DType::f32;
    memory.push_back(
        random_tensor(dtype, weight.shape, static_cast<std::uint32_t>(1000 * step) + static_cast<std::uint32_t>(i)));
    gradients.push_back({memory.back().data(), dtype, weight.shape, 0});
  }
  const std::size_t some = static_cast<std::size_t>(step) % gradients.size();
  if (step % 7 == 3) gradients[some] = no_gradient();
  if (step % 7 == 5) std::memset(memory[some].data(), 0xFF, size_of(gradients[some].dtype));  // a NaN
  optimizer_->step(gradients);
}

void Model::train(int first, int last) {
  for (int step = first; step < last; ++step) train(step);
}

Snapshot Model::snapshot() const {
  Snapshot all{weights_, {}, {}};
  for (std::size_t i = 0; i < optimizer_->parameter_count(); ++i) {
    for (const auto& tensor : optimizer_->state(i)) all.state.push_back(copy_of(tensor.view));
  }
  for (std::size_t g = 0; g < optimizer_->group_count(); ++g) all.options.push_back(describe(optimizer_->options(g)));
  return all;
}

std::vector<Group> every_rule() {
  Parameter fused = parameter("qkv", DType::f32, {12, 9});
  fused.row_blocks = equal_blocks(12, 3);
  Parameter transposed = parameter("proj", DType::bf16, {10, 11});
  transposed.transposed = true;
  return {
      {TrasMuonOptions{.min_damped_dim = 2},
       {parameter("hidden", DType::f32, {9, 13}), parameter("experts", DType::f32, {3, 5, 8}), fused, transposed}},
      {NorMuonOptions{}, {parameter("mlp/up", DType::f64, {8, 6})}},
      {MuonOptions{.momentum_dtype = MomentumDType::bf16},
       {parameter("down", DType::f16, {6, 10}), parameter("conv", DType::f32, {4, 3, 2, 2})}},
      {DionOptions{.rank_fraction = 0.5}, {parameter("gate", DType::f32, {10, 7})}},
      {AdamWOptions{}, {parameter("bias", DType::f32, {7}), parameter("embedding", DType::bf16, {5, 3})}},
  };
}

std::vector<Group> tiny() {
  return {{TrasMuonOptions{}, {parameter("w", DType::f32, {2, 3})}},
          {AdamWOptions{}, {parameter("b", DType::f32, {3})}}};
}

}  // namespace trasmuon::test
