// SPDX-License-Identifier: Apache-2.0
// A step on a GPU goes on torch's current stream, waits for nothing, and can be captured.
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <gtest/gtest.h>

#include "libtorch/net.h"
#include "libtorch/on_gpu.h"
#include "support/error_of.h"

namespace trasmuon::libtorch {
namespace {

using test::error_of;

using LibtorchStreams = LibtorchOnGpu;

/// Keeps the current stream busy for a tenth of a second or more.
class Delay {
 public:
  Delay() { enqueue(); }  // the first product also loads its kernel
  void enqueue() {
    for (int i = 0; i < 8; ++i) torch::mm_out(c_, a_, a_);
  }

 private:
  torch::Tensor a_ = torch::zeros({8192, 8192}, torch::kCUDA), c_ = torch::empty_like(a_);
};

torch::Tensor start() { return torch::linspace(-1, 1, 33 * 20).reshape({33, 20}).to(torch::kCUDA); }

/// Five steps whose gradients are there only when the stream gets to them.
torch::Tensor trained(bool delayed) {
  torch::Tensor weight = start();
  TrasMuon optimizer({weight}, {.lr = 0.1});
  Delay delay;
  torch::manual_seed(3);
  for (int step = 0; step < 5; ++step) {
    const torch::Tensor gradient = torch::randn({33, 20}).to(torch::kCUDA);
    weight.mutable_grad() = torch::full_like(weight, 7);
    if (delayed) delay.enqueue();
    weight.mutable_grad().copy_(gradient);
    optimizer.step();
  }
  return weight.cpu();
}

TEST_F(LibtorchStreams, AStepIsOnTheCurrentStream) {
  const torch::Tensor expected = trained(/*delayed=*/false);
  const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
  EXPECT_TRUE(trained(/*delayed=*/true).equal(expected));
}

TEST_F(LibtorchStreams, AStepDoesNotWaitForTheDevice) {
  constexpr std::int64_t kCount = 400;  // the table of so many is larger than what CUDA copies without waiting
  std::vector<torch::Tensor> weights{start(), start().to(torch::kBFloat16)};
  for (std::int64_t i = 0; i < kCount; ++i) weights.push_back(torch::ones({4, 5}, torch::kCUDA));
  TrasMuon optimizer(weights, {.lr = 0.1}, {.master_weights = true});
  Delay delay;
  std::vector<torch::Tensor> kept;  // so that every step has its gradients at other addresses
  const auto step = [&] {
    kept.push_back(torch::ones({kCount, 4, 5}, torch::kCUDA));
    weights[0].mutable_grad() = torch::ones({20, 33}, torch::kCUDA).t();
    weights[1].mutable_grad() = torch::ones_like(weights[1]);
    for (std::int64_t i = 0; i < kCount; ++i) weights[static_cast<std::size_t>(2 + i)].mutable_grad() = kept.back()[i];
    optimizer.step();
  };
  step();  // builds the plan and its graph
  torch::cuda::synchronize();
  delay.enqueue();
  for (int i = 0; i < 3; ++i) step();
  EXPECT_FALSE(c10::cuda::getCurrentCUDAStream().query()) << "the stream was waited for";
}

TEST_F(LibtorchStreams, AStepCanBeCaptured) {
  const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
  Net captured, plain;
  captured.to(torch::kCUDA);
  plain.to(torch::kCUDA);
  TrasMuon optimizer(captured, {.lr = 0.02}), reference(plain, {.lr = 0.02});
  captured.backward();
  std::vector<torch::Tensor> gradients;
  const auto take_gradients = [&](Net& net) {  // the same values at other addresses
    for (std::size_t i = 0; i < net.parameters().size(); ++i) {
      gradients.push_back(captured.parameters()[i].grad().clone());
      net.parameters()[i].mutable_grad() = gradients.back();
    }
  };
  take_gradients(plain);
  optimizer.step();
  take_gradients(captured);
  at::cuda::CUDAGraph graph;
  graph.capture_begin();
  optimizer.step();
  graph.capture_end();
  for (torch::Tensor& parameter : captured.parameters()) parameter.mutable_grad() = torch::zeros_like(parameter);
  for (int i = 0; i < 4; ++i) graph.replay();
  for (int i = 0; i < 5; ++i) reference.step();
  EXPECT_TRUE(same_bits(captured.parameters(), plain.parameters()));
  // Steps outside have their own gradients again.
  for (int i = 0; i < 2; ++i) {
    for (Net* net : {&captured, &plain}) {
      for (torch::Tensor& parameter : net->parameters()) parameter.mutable_grad() = torch::ones_like(parameter);
    }
    optimizer.step();
    reference.step();
  }
  EXPECT_TRUE(same_bits(captured.parameters(), plain.parameters()));
}

TEST_F(LibtorchStreams, ABackwardPassAndItsStepCanBeCaptured) {
  const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
  torch::Tensor captured = start().requires_grad_(), plain = start().requires_grad_();
  TrasMuon optimizer({captured}, {.lr = 0.02}), reference({plain}, {.lr = 0.02});
  const auto iterate = [](torch::Tensor& weight, TrasMuon& it) {
    weight.mutable_grad() = torch::Tensor();
    (weight.sin() - 0.5 * weight).square().sum().backward();
    it.step();
  };
  iterate(captured, optimizer);
  at::cuda::CUDAGraph graph;
  graph.capture_begin();
  iterate(captured, optimizer);
  graph.capture_end();
  for (int i = 0; i < 9; ++i) graph.replay();
  for (int i = 0; i < 10; ++i) iterate(plain, reference);
  EXPECT_TRUE(captured.detach().equal(plain.detach()));
}

TEST_F(LibtorchStreams, ACapturedStepTakesRefreshedOptions) {
  const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
  torch::Tensor captured = start(), plain = start();
  captured.mutable_grad() = torch::ones_like(captured);
  plain.mutable_grad() = torch::ones_like(plain);
  TrasMuon optimizer({captured}, {.lr = 0.02}), reference({plain}, {.lr = 0.02});
  optimizer.step();
  reference.step();
  at::cuda::CUDAGraph graph;
  graph.capture_begin();
  optimizer.step();
  graph.capture_end();
  for (double lr : {0.01, 0.05, 0.02}) {
    optimizer.param_groups().front().options().set_lr(lr);
    optimizer.refresh_recorded();
    graph.replay();
    reference.param_groups().front().options().set_lr(lr);
    reference.step();
  }
  EXPECT_TRUE(captured.equal(plain));
}

TEST_F(LibtorchStreams, TheFirstStepCannotBeCaptured) {
  const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
  torch::Tensor weight = start();
  TrasMuon optimizer({weight}, {});
  weight.mutable_grad() = torch::ones_like(weight);
  at::cuda::CUDAGraph graph;
  graph.capture_begin();
  const std::string text = error_of([&] { optimizer.step(); });
  graph.capture_end();
  EXPECT_EQ(text, "cuda: run one step before you capture a step in a graph of your own");
}

}  // namespace
}  // namespace trasmuon::libtorch
