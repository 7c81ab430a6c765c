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

TEST_F(CudaDiagnostics, AreTheCpus) {
  for (const Options& options :
       {Options(TrasMuonOptions{.lr = 0.02}), Options(TrasMuonOptions{.lr = 0.02, .orthogonalize = false}),
        Options(NorMuonOptions{}), Options(MuonOptions{})}) {
    Twins<double> twins(options, options, memory, mixed_items(), 1, {.diagnostics = true});
    expect_same(twins, 0, "before the first step");
    for (int t = 0; t < 12; ++t) {
      twins.step(t % 5 == 3 ? 30 : 1, t == 7 ? 2 : -1);
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
