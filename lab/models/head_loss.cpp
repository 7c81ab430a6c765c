// SPDX-License-Identifier: Apache-2.0
#include "lab/models/head_loss.h"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "lab/models/autocast.h"

namespace trasmuon::lab {
namespace {

constexpr std::int64_t kLogitBytes = 1 << 27, kCudaLogitBytes = 1 << 30;  // of the logits in f32 that exist at a time
constexpr std::int64_t kVocabularyMultiple = 64;  // GPUs multiply matrices of odd sizes several times slower

/// Of some rows: the summed log likelihood of the targets in at least f32, and the probabilities in the logits' type.
struct Softmax {
  at::Tensor log_likelihood, probabilities;
};

Softmax softmax_of(at::Tensor logits, const at::Tensor& target, bool with_probabilities) {
  if (with_probabilities && logits.element_size() == 2) {
    // Reads and writes 16 bits only; softmax() would convert to f32 under autocast. The targets' probabilities are
    // rounded by 2^-9 at most, up and down alike; one of 0 would make the loss infinite.
    const at::Tensor p = at::_softmax(logits, 1, /*half_to_float=*/false);
    const double tiny = std::numeric_limits<float>::min();
    return {p.gather(1, target).to(at::kFloat).clamp_min(tiny).log().sum(), p};
  }
  const at::Tensor log_p = at::log_softmax(logits, 1, at::promote_types(logits.scalar_type(), at::kFloat));
  if (with_probabilities) at::exp_out(logits, log_p);
  return {log_p.gather(1, target).sum(), std::move(logits)};
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct HeadLoss : torch::autograd::Function<HeadLoss> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& hidden, const at::Tensor& weight,
                            const at::Tensor& targets, std::int64_t rows_at_a_time, bool with_gradients) {
    const std::int64_t rows = hidden.size(0), vocabulary = weight.size(0);
    const std::int64_t padding = (kVocabularyMultiple - vocabulary % kVocabularyMultiple) % kVocabularyMultiple;
    const at::Tensor input = to_product_type(hidden);
    at::Tensor head = to_product_type(weight);
    if (padding > 0) head = at::constant_pad_nd(head, {0, 0, 0, padding});
    const std::int64_t bytes = hidden.is_cuda() ? kCudaLogitBytes : kLogitBytes;
    const std::int64_t fitting = std::max<std::int64_t>(1, bytes / (4 * head.size(0)));
    const std::int64_t most_rows = rows_at_a_time > 0 ? rows_at_a_time : fitting;

    at::Tensor sum = at::zeros({}, hidden.options()), hidden_gradient, weight_gradient;
    if (with_gradients) {
      hidden_gradient = at::empty_like(hidden);
      weight_gradient = at::zeros(head.sizes(), weight.options());
    }
    for (std::int64_t first = 0; first < rows; first += most_rows) {
      const std::int64_t count = std::min(most_rows, rows - first);
      const at::Tensor part = input.narrow(0, first, count), target = targets.narrow(0, first, count).unsqueeze(1);
      at::Tensor logits = at::matmul(part, head.t());
      if (padding > 0) logits.narrow(1, vocabulary, padding).fill_(-std::numeric_limits<float>::infinity());
      const Softmax softmax = softmax_of(std::move(logits), target, with_gradients);
      sum -= softmax.log_likelihood;
      if (!with_gradients) continue;
      // d loss / d logits = (p - [target]) / rows; the factor 1 / rows is applied in backward().
      const at::Tensor& slope = softmax.probabilities;
      slope.scatter_add_(1, target, at::full_like(target, -1, slope.options()));
      hidden_gradient.narrow(0, first, count).copy_(at::matmul(slope, head));
      weight_gradient += at::matmul(slope.t(), part);
    }
    if (with_gradients) context->save_for_backward({hidden_gradient, weight_gradient.narrow(0, 0, vocabulary)});
    context->saved_data["rows"] = rows;
    return sum / rows;
  }

  static variable_list backward(AutogradContext* context, variable_list loss_gradient) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor factor = loss_gradient[0] / context->saved_data["rows"].toInt();
    return {saved[0] * factor, saved[1] * factor, {}, {}, {}};
  }
};

}  // namespace

at::Tensor head_loss(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& targets,
                     std::int64_t rows_at_a_time) {
  const bool with_gradients = at::GradMode::is_enabled() && (hidden.requires_grad() || weight.requires_grad());
  return HeadLoss::apply(hidden, weight, targets, rows_at_a_time, with_gradients);
}

}  // namespace trasmuon::lab
