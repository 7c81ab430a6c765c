// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/diagnostics.h"

#include "twins.h"

namespace trasmuon::test {
namespace {

using CudaDiagnostics = OnGpu;

/// Every field of every matrix, as on the CPU.
template <class T>
void expect_same(Twins<T>& twins, double tolerance, const std::string& where) {
  for (std::size_t i = 0; i < twins.count(); ++i) {
    const auto ours = twins.gpu().diagnostics(i), theirs = twins.cpu().diagnostics(i);
    ASSERT_EQ(ours.size(), theirs.size());
    for (std::size_t k = 0; k < ours.size(); ++k) {
      const Diagnostics &a = ours[k], &b = theirs[k];
      const std::string place = where + " parameter " + std::to_string(i) + " matrix " + std::to_string(k);
      EXPECT_EQ(a.step, b.step) << place;
      EXPECT_EQ(a.skipped, b.skipped) << place;
      EXPECT_EQ(a.updated, b.updated) << place;
      EXPECT_NEAR(a.damped_share, b.damped_share, 1e-12) << place;
      const auto near = [&](double x, double y, const char* field) {
        EXPECT_NEAR(x, y, tolerance * (1 + std::abs(y))) << place << " " << field;
      };
      near(a.r_max, b.r_max, "r_max");
      near(a.r_q95, b.r_q95, "r_q95");
      near(a.c_min, b.c_min, "c_min");
      near(a.c_mean, b.c_mean, "c_mean");
      near(a.update_rms, b.update_rms, "update_rms");
      near(a.eta_hat, b.eta_hat, "eta_hat");
      near(a.isometry_error, b.isometry_error, "isometry_error");
    }
  }
}

TEST_F(CudaDiagnostics, EqualTheCpus) {
  for (const Options& options :
       {Options(TrasMuonOptions{.lr = 0.02}), Options(TrasMuonOptions{.lr = 0.02, .orthogonalize = false}),
        Options(NorMuonOptions{}), Options(MuonOptions{}), Options(DionOptions{.rank_fraction = 0.4})}) {
    Twins<double> twins(options, options, memory, mixed_items(), 1, {.diagnostics = true});
    expect_same(twins, 0, "before the first step");
    for (int t = 0; t < steps_of(12); ++t) {
      twins.step(t % 5 == 3 ? 30 : 1, t == 4 ? 2 : -1);
      if (t % 3 == 1) expect_same(twins, 1e-9, describe(options) + " step " + std::to_string(t));
    }
    EXPECT_LE(twins.distance(), 1e-11);
  }
}

TEST_F(CudaDiagnostics, DescribeWhatWasRoundedTo16Bits) {
  const TrasMuonOptions on_cpu{.lr = 0.02, .ns_form = NewtonSchulzForm::standard}, on_gpu{.lr = 0.02};
  Twins<float> twins(on_cpu, on_gpu, memory, mixed_items(), 1, {.diagnostics = true});
  for (int t = 0; t < 3; ++t) twins.step();
  for (std::size_t i = 0; i < twins.count(); ++i) {
    const Diagnostics &a = twins.gpu().diagnostics(i)[0], &b = twins.cpu().diagnostics(i)[0];
    EXPECT_NEAR(a.r_max, b.r_max, 1e-4 * b.r_max) << i;
    EXPECT_NEAR(a.update_rms, b.update_rms, 1e-2 * b.update_rms) << i;
    EXPECT_NEAR(a.isometry_error, b.isometry_error, 4e-2) << i;
  }
}

/// f64 and f32 matrices are two batches, run one after the other: the second must not overwrite the first.
TEST_F(CudaDiagnostics, OfSeveralBatches) {
  for (const Options& options : {Options(TrasMuonOptions{.ns_precision = NewtonSchulzPrecision::f32}),
                                 Options(DionOptions{.rank_fraction = 0.5})}) {
    Memory host;
    const auto build = [&](Memory& where) {
      std::mt19937_64 rng(4);
      const auto wide = where.copy(random_values<double>(24 * 36, rng));
      const auto narrow = where.copy(random_values<float>(30 * 20, rng));
      return Optimizer({{options,
                         {{.name = "wide", .weight = view(wide, {24, 36}), .device = where.device()},
                          {.name = "narrow", .weight = view(narrow, {30, 20}), .device = where.device()}}}},
                       {.diagnostics = true});
    };
    const auto step = [&](Memory& where, Optimizer& optimizer) {
      std::mt19937_64 rng(5);
      const TensorView gradients[] = {view(where.copy(random_values<double>(24 * 36, rng)), {24, 36}),
                                      view(where.copy(random_values<float>(30 * 20, rng)), {30, 20})};
      optimizer.step(gradients);
    };
    Optimizer ours = build(memory), theirs = build(host);
    step(memory, ours);
    step(host, theirs);
    for (std::size_t i = 0; i < 2; ++i) {
      const Diagnostics &a = ours.diagnostics(i)[0], &b = theirs.diagnostics(i)[0];
      EXPECT_NEAR(a.update_rms, b.update_rms, 1e-5 * b.update_rms) << rule_name(options) << i;
      EXPECT_NEAR(a.isometry_error, b.isometry_error, 1e-5) << rule_name(options) << i;
      EXPECT_NEAR(a.r_max, b.r_max, 1e-5 * (1 + b.r_max)) << rule_name(options) << i;
    }
  }
}

TEST_F(CudaDiagnostics, FollowReplaysOfTheCallersGraph) {
  std::mt19937_64 rng(6);
  float* w = memory.copy(random_values<float>(16 * 24, rng));
  const TensorView gradient = view(memory.copy(random_values<float>(16 * 24, rng)), {16, 24});
  Optimizer optimizer({{DionOptions{}, {{.name = "w", .weight = view(w, {16, 24}), .device = Device::cuda(0)}}}},
                      {.diagnostics = true});
  optimizer.step({&gradient, 1});
  EXPECT_EQ(optimizer.diagnostics(0)[0].step, 1);
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  optimizer.step({&gradient, 1}, stream);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  check_cuda(cudaStreamEndCapture(stream, &graph));
  check_cuda(cudaGraphInstantiate(&exec, graph, 0));
  for (int t = 0; t < 3; ++t) check_cuda(cudaGraphLaunch(exec, stream));
  EXPECT_EQ(optimizer.diagnostics(0)[0].step, 4);
  EXPECT_GT(optimizer.diagnostics(0)[0].update_rms, 0);
  check_cuda(cudaGraphExecDestroy(exec));
  check_cuda(cudaGraphDestroy(graph));
  check_cuda(cudaStreamDestroy(stream));
}

TEST_F(CudaDiagnostics, OfAdamW) {
  std::mt19937_64 rng(3);
  auto w = random_values<float>(300, rng);
  const auto g = random_values<float>(300, rng);
  float* device = memory.copy(w);
  Optimizer theirs({{AdamWOptions{}, {{.name = "w", .weight = view(w.data(), {300})}}}}, {.diagnostics = true});
  Optimizer ours({{AdamWOptions{}, {{.name = "w", .weight = view(device, {300}), .device = Device::cuda(0)}}}},
                 {.diagnostics = true});
  const TensorView on_cpu = view(g.data(), {300}), on_gpu = view(memory.copy(g), {300});
  for (int t = 0; t < 3; ++t) {
    theirs.step({&on_cpu, 1});
    ours.step({&on_gpu, 1});
    const Diagnostics &a = ours.diagnostics(0)[0], &b = theirs.diagnostics(0)[0];
    EXPECT_EQ(a.step, b.step);
    EXPECT_TRUE(a.updated);
    EXPECT_NEAR(a.update_rms, b.update_rms, 1e-5 * b.update_rms);
    EXPECT_EQ(a.eta_hat, b.eta_hat);
    EXPECT_EQ(a.isometry_error, 0);
  }
}

}  // namespace
}  // namespace trasmuon::test
