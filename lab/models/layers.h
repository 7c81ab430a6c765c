// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>

// The layers that all models are built of. Their parameters are not initialized: initialization.h.
namespace trasmuon::lab {

class Linear : public torch::nn::Module {
 public:
  Linear(std::int64_t in, std::int64_t out, bool with_bias);
  at::Tensor forward(const at::Tensor& x) const;

  at::Tensor weight, bias;  ///< [out, in]; [out] or undefined
};

class Embedding : public torch::nn::Module {
 public:
  Embedding(std::int64_t entries, std::int64_t width);
  at::Tensor forward(const at::Tensor& indices) const;

  at::Tensor weight;  ///< [entries, width]
};

/// Normalizes the last dimension to mean 0 and variance 1, then scales and shifts.
class LayerNorm : public torch::nn::Module {
 public:
  LayerNorm(std::int64_t width, double epsilon);
  at::Tensor forward(const at::Tensor& x) const;

  at::Tensor weight, bias;

 private:
  double epsilon_;
};

/// Normalizes the last dimension to root mean square 1, then scales. Computes and returns at least f32.
class RmsNorm : public torch::nn::Module {
 public:
  RmsNorm(std::int64_t width, double epsilon);
  at::Tensor forward(const at::Tensor& x) const;

  at::Tensor weight;

 private:
  double epsilon_;
};

}  // namespace trasmuon::lab
