// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/optimizer.h"

#include <cmath>

#include "cuda_memory.h"
#include "support/error_of.h"
#include "support/model.h"
#include "trasmuon/trasmuon.h"

namespace trasmuon::test {
namespace {

using CudaOptimizer = OnGpu;

/// A matrix under TrasMuon and a vector under AdamW.
struct Model {
  float *w, *b, *dw, *db;
  Optimizer optimizer;

  Model(Memory& memory, Device device)
      : w(fill(memory, 64 * 48, 1)),
        b(fill(memory, 64, 2)),
        dw(fill(memory, 64 * 48, 3)),
        db(fill(memory, 64, 4)),
        optimizer({{TrasMuonOptions{.lr = 0.02}, {{.name = "w", .weight = view(w, {64, 48}), .device = device}}},
                   {AdamWOptions{.lr = 0.01}, {{.name = "b", .weight = view(b, {64}), .device = device}}}}) {}

  std::vector<TensorView> gradients() const { return {view(dw, {64, 48}), view(db, {64})}; }
  static float* fill(Memory& memory, std::int64_t count, std::uint64_t seed) {
    std::mt19937_64 rng(seed);
    return memory.copy(random_values<float>(count, rng));
  }
};

TEST_F(CudaOptimizer, GroupsOfTwoRulesFollowTheCpu) {
  Memory host;
  Model ours(memory, Device::cuda(0)), theirs(host, Device::cpu());
  for (int t = 0; t < 30; ++t) {
    ours.optimizer.step(ours.gradients());
    theirs.optimizer.step(theirs.gradients());
  }
  const auto compare = [&](const float* a, const float* b, std::size_t count, float tolerance) {
    const auto x = memory.fetch<float>(a, count), y = host.fetch<float>(b, count);
    for (std::size_t k = 0; k < count; ++k) ASSERT_NEAR(x[k], y[k], tolerance);
  };
  compare(ours.w, theirs.w, 64 * 48, 5e-3f);
  compare(ours.b, theirs.b, 64, 1e-6f);
}

TEST_F(CudaOptimizer, WorksOnTheCallersStream) {
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Model model(memory, Device::cuda(0)), reference(memory, Device::cuda(0));
  for (int t = 0; t < 5; ++t) {
    if (t % 2 == 0) model.optimizer.step(model.gradients(), stream);
    else model.optimizer.step_on_streams(model.gradients(), std::vector<void*>{stream});
    reference.optimizer.step(reference.gradients());
  }
  check_cuda(cudaStreamSynchronize(stream));
  EXPECT_EQ(memory.fetch<float>(model.w, 64 * 48), memory.fetch<float>(reference.w, 64 * 48));
  check_cuda(cudaStreamDestroy(stream));
}

TEST_F(CudaOptimizer, CanBeCapturedInTheCallersGraph) {
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Model model(memory, Device::cuda(0)), reference(memory, Device::cuda(0));
  EXPECT_EQ(error_of([&] {
              check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
              model.optimizer.step(model.gradients(), stream);
            }),
            "cuda: run one step before you capture a step in a graph of your own");
  cudaGraph_t graph = nullptr;
  check_cuda(cudaStreamEndCapture(stream, &graph));
  check_cuda(cudaGraphDestroy(graph));

  model.optimizer.step(model.gradients(), stream);
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  model.optimizer.step(model.gradients(), stream);
  check_cuda(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t exec = nullptr;
  check_cuda(cudaGraphInstantiate(&exec, graph, 0));
  for (int t = 0; t < 4; ++t) check_cuda(cudaGraphLaunch(exec, stream));
  check_cuda(cudaStreamSynchronize(stream));
  for (int t = 0; t < 5; ++t) reference.optimizer.step(reference.gradients());
  EXPECT_EQ(memory.fetch<float>(model.w, 64 * 48), memory.fetch<float>(reference.w, 64 * 48));
  EXPECT_EQ(memory.fetch<float>(model.b, 64), memory.fetch<float>(reference.b, 64));
  check_cuda(cudaGraphExecDestroy(exec));
  check_cuda(cudaGraphDestroy(graph));
  check_cuda(cudaStreamDestroy(stream));
}

TEST_F(CudaOptimizer, ACapturedStepKeepsItsGradientsAndScalars) {
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Model model(memory, Device::cuda(0)), reference(memory, Device::cuda(0));
  std::vector<TensorView> captured = model.gradients(), between = model.gradients();
  captured[0] = view(Model::fill(memory, 64 * 48, 5), {64, 48});
  between[0] = view(Model::fill(memory, 64 * 48, 6), {64, 48});
  model.optimizer.step(model.gradients(), stream);
  model.optimizer.set_lr(0.05);
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  model.optimizer.step(captured, stream);
  cudaGraph_t graph = nullptr;
  check_cuda(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t exec = nullptr;
  check_cuda(cudaGraphInstantiate(&exec, graph, 0));
  const auto replay = [&] { check_cuda(cudaGraphLaunch(exec, stream)); };
  model.optimizer.set_lr(0.1);
  replay();
  model.optimizer.step(between, stream);
  replay();
  check_cuda(cudaStreamSynchronize(stream));

  const auto step = [&](const std::vector<TensorView>& gradients, double lr) {
    reference.optimizer.set_lr(lr);
    reference.optimizer.step(gradients);
  };
  reference.optimizer.step(reference.gradients());
  step(captured, 0.05);
  step(between, 0.1);
  step(captured, 0.05);
  EXPECT_EQ(memory.fetch<float>(model.w, 64 * 48), memory.fetch<float>(reference.w, 64 * 48));
  EXPECT_EQ(memory.fetch<float>(model.b, 64), memory.fetch<float>(reference.b, 64));
  check_cuda(cudaGraphExecDestroy(exec));
  check_cuda(cudaGraphDestroy(graph));
  check_cuda(cudaStreamDestroy(stream));
}

TEST_F(CudaOptimizer, ACapturedStepTakesRefreshedOptions) {
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Model model(memory, Device::cuda(0)), reference(memory, Device::cuda(0));
  model.optimizer.step(model.gradients(), stream);
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  model.optimizer.step(model.gradients(), stream);
  EXPECT_THROW(model.optimizer.refresh_recorded(stream), Error);
  cudaGraph_t graph = nullptr;
  check_cuda(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t exec = nullptr;
  check_cuda(cudaGraphInstantiate(&exec, graph, 0));
  reference.optimizer.step(reference.gradients());
  for (double lr : {0.05, 0.01, 0.02}) {
    model.optimizer.set_lr(lr);
    model.optimizer.refresh_recorded(stream);
    check_cuda(cudaGraphLaunch(exec, stream));
    reference.optimizer.set_lr(lr);
    reference.optimizer.step(reference.gradients());
  }
  check_cuda(cudaStreamSynchronize(stream));
  EXPECT_EQ(memory.fetch<float>(model.w, 64 * 48), memory.fetch<float>(reference.w, 64 * 48));
  EXPECT_EQ(memory.fetch<float>(model.b, 64), memory.fetch<float>(reference.b, 64));

  model.optimizer.set(0, "ns_steps", 3);  // needs other kernels than were captured
  EXPECT_THROW(model.optimizer.refresh_recorded(stream), Error);
  model.optimizer.step(model.gradients(), stream);  // replaces the plan that was captured
  EXPECT_THROW(model.optimizer.refresh_recorded(stream), Error);
  model.optimizer.set(0, "ns_steps", 5);
  model.optimizer.step(model.gradients(), stream);
  EXPECT_THROW(model.optimizer.refresh_recorded(stream), Error);
  check_cuda(cudaGraphExecDestroy(exec));
  check_cuda(cudaGraphDestroy(graph));
  check_cuda(cudaStreamDestroy(stream));
}

TEST_F(CudaOptimizer, GradientsMayMoveAndBeMissing) {
  Model model(memory, Device::cuda(0)), reference(memory, Device::cuda(0));
  float* elsewhere = Model::fill(memory, 64 * 48, 3);
  for (int t = 0; t < 6; ++t) {
    std::vector<TensorView> gradients = model.gradients();
    if (t % 2 == 1) gradients[0] = view(elsewhere, {64, 48});
    if (t == 3) gradients[1] = no_gradient();
    model.optimizer.step(gradients);
    std::vector<TensorView> plain = reference.gradients();
    if (t == 3) plain[1] = no_gradient();
    reference.optimizer.step(plain);
  }
  EXPECT_EQ(memory.fetch<float>(model.w, 64 * 48), memory.fetch<float>(reference.w, 64 * 48));
  EXPECT_EQ(memory.fetch<float>(model.b, 64), memory.fetch<float>(reference.b, 64));
}

TEST_F(CudaOptimizer, SixteenBitWeightsWithAndWithoutMasters) {
  std::mt19937_64 rng(5);
  const auto start = random_values<bf16>(96 * 40, rng), gradient = random_values<bf16>(96 * 40, rng);
  for (bool masters : {false, true}) {
    std::vector<bf16> host = start;
    bf16* device = memory.copy(start);
    const TrasMuonOptions options{.lr = 0.02, .ns_form = NewtonSchulzForm::standard};
    TrasMuonOptions on_gpu = options;
    on_gpu.ns_precision = NewtonSchulzPrecision::f32;
    Optimizer theirs({{options, {{.name = "w", .weight = view(host.data(), {96, 40})}}}}, {.master_weights = masters});
    Optimizer ours({{on_gpu, {{.name = "w", .weight = view(device, {96, 40}), .device = Device::cuda(0)}}}},
                   {.master_weights = masters});
    const TensorView g = view(gradient.data(), {96, 40}), dg = view(memory.copy(gradient), {96, 40});
    for (int t = 0; t < 10; ++t) {
      theirs.step({&g, 1});
      ours.step({&dg, 1});
    }
    const auto result = memory.fetch<bf16>(device, host.size());
    int different = 0;
    for (std::size_t k = 0; k < host.size(); ++k)
      different += std::abs(to_double(result[k]) - to_double(host[k])) > 0.04;
    EXPECT_EQ(different, 0) << "masters " << masters;
  }
}

TEST_F(CudaOptimizer, CheckpointsCarryOverBetweenDevices) {
  Memory host;
  Model ours(memory, Device::cuda(0)), theirs(host, Device::cpu());
  for (int t = 0; t < 3; ++t) ours.optimizer.step(ours.gradients());
  const std::string path = testing::TempDir() + "/cuda.safetensors";
  save_checkpoint(ours.optimizer, path);
  load_checkpoint(theirs.optimizer, path);
  std::vector<float> a(64 * 48), b(64 * 48);
  ours.optimizer.read_state(0, "momentum", a.data());
  theirs.optimizer.read_state(0, "momentum", b.data());
  EXPECT_EQ(a, b);
}

TEST_F(CudaOptimizer, AMissingDeviceIsRefused) {
  float* w = Model::fill(memory, 64, 1);
  const auto build = [&](const Options& options, Device device) {
    return error_of([&] { Optimizer({{options, {{.name = "w", .weight = view(w, {8, 8}), .device = device}}}}); });
  };
  EXPECT_THAT(build(TrasMuonOptions{}, Device::cuda(99)), testing::StartsWith("cuda: device must be < "));
}

}  // namespace
}  // namespace trasmuon::test
