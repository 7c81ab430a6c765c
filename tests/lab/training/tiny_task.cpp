// SPDX-License-Identifier: Apache-2.0
#include "tiny_task.h"

#include <torch/nn/functional.h>
#include <torch/nn/modules.h>

#include <limits>

namespace trasmuon::lab {
namespace {

constexpr int kWidth = 24, kWords = 40;

struct TinyModel : torch::nn::Module {
  explicit TinyModel(double dropout) {
    embedding = register_module("embedding", torch::nn::Embedding(kWords, kWidth));
    first = register_module("fc1", torch::nn::Linear(kWidth, 2 * kWidth));
    second = register_module("fc2", torch::nn::Linear(2 * kWidth, kWidth));
    norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({kWidth})));
    drop = register_module("drop", torch::nn::Dropout(dropout));
    head = register_module("head", torch::nn::Linear(kWidth, 1));
  }
  at::Tensor forward(const at::Tensor& words) {
    const at::Tensor x = embedding(words);
    return head(norm(x + second(drop(at::relu(first(x)))))).squeeze(-1);
  }
  torch::nn::Embedding embedding = nullptr;
  torch::nn::Linear first = nullptr, second = nullptr, head = nullptr;
  torch::nn::LayerNorm norm = nullptr;
  torch::nn::Dropout drop = nullptr;
};

class TinyTask final : public Task {
 public:
  TinyTask(std::uint64_t seed, int micro_batch, double dropout, int breaks_at)
      : model_(std::make_shared<TinyModel>(dropout)), seed_(seed), micro_batch_(micro_batch), breaks_at_(breaks_at) {}
  torch::nn::Module& model() override { return *model_; }
  at::Tensor loss(std::int64_t step, int micro_batch) override {
    const at::Tensor all = words(static_cast<std::uint64_t>(step) + 1, 64);
    const at::Tensor loss =
        error_on(all.narrow(0, static_cast<std::int64_t>(micro_batch) * micro_batch_, micro_batch_));
    return breaks_at_ >= 0 && step >= breaks_at_ ? loss * std::numeric_limits<double>::quiet_NaN() : loss;
  }
  Evaluation evaluate() override { return {{"val_loss", error_on(words(0, 64)).item<double>()}}; }
  double items_per_micro_batch() const override { return micro_batch_; }
  double flops_per_micro_batch() const override { return 1e4 * micro_batch_; }

 private:
  at::Tensor words(std::uint64_t stream, std::int64_t count) const {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(seed_ * 100003 + stream);
    return at::randint(kWords, {count}, generator, at::kLong);
  }
  at::Tensor error_on(const at::Tensor& inputs) {
    const at::Tensor there = inputs.to(model_->parameters().front().device());
    return at::mse_loss(model_->forward(there).to(at::kFloat), at::sin(there.to(at::kFloat)));
  }
  std::shared_ptr<TinyModel> model_;
  std::uint64_t seed_;
  int micro_batch_, breaks_at_;
};

}  // namespace

std::unique_ptr<Task> tiny_task(std::uint64_t seed, int micro_batch, double dropout, int breaks_at) {
  return std::make_unique<TinyTask>(seed, micro_batch, dropout, breaks_at);
}

}  // namespace trasmuon::lab
