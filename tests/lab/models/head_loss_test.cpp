// SPDX-License-Identifier: Apache-2.0
#include "lab/models/head_loss.h"

#include <gtest/gtest.h>

#include "lab/models/autocast.h"

namespace trasmuon::lab {
namespace {

struct Result {
  at::Tensor loss, hidden_gradient, weight_gradient;
};

template <class Loss>
Result differentiate(const at::Tensor& hidden, const at::Tensor& weight, Loss&& loss_of) {
  const at::Tensor h = hidden.clone().requires_grad_(), w = weight.clone().requires_grad_();
  const at::Tensor loss = loss_of(h, w);
  (3 * loss).backward();  // a factor, so that the gradient of the loss is not 1
  return {loss.detach(), h.grad(), w.grad()};
}

TEST(HeadLoss, IsCrossEntropyWithItsGradients) {
  torch::manual_seed(2);
  for (const std::int64_t vocabulary : {1, 5, 64, 100}) {
    const at::Tensor hidden = at::randn({11, 6}, at::kDouble), weight = at::randn({vocabulary, 6}, at::kDouble);
    const at::Tensor targets = at::randint(vocabulary, {11}, at::kLong);
    const Result ours = differentiate(hidden, weight, [&](auto& h, auto& w) { return head_loss(h, w, targets); });
    const Result plain = differentiate(
        hidden, weight, [&](auto& h, auto& w) { return at::cross_entropy_loss(at::linear(h, w), targets); });
    EXPECT_TRUE(at::allclose(ours.loss, plain.loss, 1e-12, 1e-12)) << vocabulary;
    EXPECT_TRUE(at::allclose(ours.hidden_gradient, plain.hidden_gradient, 1e-10, 1e-12)) << vocabulary;
    EXPECT_TRUE(at::allclose(ours.weight_gradient, plain.weight_gradient, 1e-10, 1e-12)) << vocabulary;
  }
}

TEST(HeadLoss, SeveralPiecesGiveTheSameAsOne) {
  torch::manual_seed(3);
  const at::Tensor hidden = at::randn({11, 6}, at::kDouble), weight = at::randn({70, 6}, at::kDouble);
  const at::Tensor targets = at::randint(70, {11}, at::kLong);
  const auto in_pieces = [&](std::int64_t rows) {
    return differentiate(hidden, weight, [&](auto& h, auto& w) { return head_loss(h, w, targets, rows); });
  };
  const Result whole = in_pieces(11);
  for (const std::int64_t rows : {1, 4, 10}) {
    const Result pieces = in_pieces(rows);
    EXPECT_TRUE(at::allclose(pieces.loss, whole.loss, 1e-12, 1e-12)) << rows;
    EXPECT_TRUE(at::allclose(pieces.hidden_gradient, whole.hidden_gradient, 1e-10, 1e-12)) << rows;
    EXPECT_TRUE(at::allclose(pieces.weight_gradient, whole.weight_gradient, 1e-10, 1e-12)) << rows;
  }
}

TEST(HeadLoss, NeedsNoGradients) {
  at::NoGradGuard no_grad;
  const at::Tensor hidden = at::randn({4, 3}), weight = at::randn({7, 3}), targets = at::zeros({4}, at::kLong);
  const at::Tensor loss = head_loss(hidden, weight, targets);
  EXPECT_FALSE(loss.requires_grad());
  EXPECT_TRUE(at::allclose(loss, at::cross_entropy_loss(at::linear(hidden, weight), targets)));
}

// Under mixed precision the likelihood is taken from rounded probabilities: each off by 2^-9, their mean by far less.
TEST(HeadLoss, In16BitsIsThatOfTheSameLogits) {
  torch::manual_seed(4);
  const at::Tensor hidden = at::randn({512, 16}), weight = at::randn({300, 16});
  const at::Tensor targets = at::randint(300, {512}, at::kLong);
  const AutocastGuard precision(at::kCPU, at::kBFloat16);
  const Result ours = differentiate(hidden, weight, [&](auto& h, auto& w) { return head_loss(h, w, targets); });
  const Result plain = differentiate(hidden, weight, [&](auto& h, auto& w) {
    return at::cross_entropy_loss(at::linear(h, w).to(at::kFloat), targets);
  });
  EXPECT_EQ(ours.loss.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::allclose(ours.loss, plain.loss, 2e-4, 0)) << ours.loss << plain.loss;
  EXPECT_LT((ours.weight_gradient - plain.weight_gradient).norm().item<double>(),
            1e-2 * plain.weight_gradient.norm().item<double>());
}

TEST(HeadLoss, In16BitsIsFiniteForAnImpossibleTarget) {
  const at::Tensor hidden = at::full({1, 1}, 1000.0), weight = at::tensor({1.0F, 0.0F}).unsqueeze(1);
  const AutocastGuard precision(at::kCPU, at::kBFloat16);
  const Result r = differentiate(hidden, weight, [&](auto& h, auto& w) { return head_loss(h, w, at::tensor({1L})); });
  EXPECT_NEAR(r.loss.item<double>(), 87.3, 0.1);
}

}  // namespace
}  // namespace trasmuon::lab
