// SPDX-License-Identifier: Apache-2.0
#include "lab/models/recompute.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>
#include <utility>

#include "lab/models/autocast.h"

namespace trasmuon::lab {
namespace {

/// The block and the precision it ran in, kept in the autograd graph.
struct RecomputedBlock : torch::CustomClassHolder {
  std::function<at::Tensor(const at::Tensor&)> run;
  std::optional<at::ScalarType> type;
};

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Recompute : torch::autograd::Function<Recompute> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const c10::intrusive_ptr<RecomputedBlock>& block) {
    context->save_for_backward({input});
    context->saved_data["block"] = c10::IValue::make_capsule(block);
    return block->run(input);  // gradients are off here
  }

  static variable_list backward(AutogradContext* context, variable_list output_gradients) {
    const auto holder = context->saved_data["block"].toCapsule();
    const auto& block = static_cast<const RecomputedBlock&>(*holder);
    const at::Tensor input = context->get_saved_variables()[0].detach().requires_grad_();
    at::AutoGradMode gradients(true);
    // The backward pass runs on a thread of its own on a GPU, outside the caller's guards.
    const AutocastGuard precision(input.device().type(), block.type);
    const at::Tensor output = block.run(input);
    torch::autograd::backward({output}, {output_gradients[0]});  // adds to the parameters' gradients
    return {input.grad(), at::Tensor()};
  }
};

}  // namespace

at::Tensor recompute_in_backward(std::function<at::Tensor(const at::Tensor&)> block, const at::Tensor& input) {
  if (!at::GradMode::is_enabled() || !input.requires_grad()) return block(input);
  auto holder = c10::make_intrusive<RecomputedBlock>();
  holder->run = std::move(block);
  holder->type = autocast_type(input.device().type());
  return Recompute::apply(input, holder);
}

}  // namespace trasmuon::lab
