// SPDX-License-Identifier: Apache-2.0
#include "support/option_variants.h"
#include "twins.h"

namespace trasmuon::test {
namespace {

using CudaTrajectory = OnGpu;

TEST_F(CudaTrajectory, FollowsTheCpuInDouble) {
  for (const Options& options :
       {Options(TrasMuonOptions{.lr = 0.02}),
        Options(TrasMuonOptions{.lr = 0.02, .nesterov = false, .clip = Clip::hard}), Options(NorMuonOptions{}),
        Options(NorMuonOptions{.scaling = NorMuonScaling::code}), Options(MuonOptions{}),
        Options(TrasMuonOptions{.lr = 0.02, .orthogonalize = false}),
        Options(TrasMuonOptions{.lr = 0.02, .row_scale = false, .calibrate = false, .skip_nonfinite = false}),
        Options(TrasMuonOptions{.lr = 0.02, .coefficients = "polar_express"}),
        Options(TrasMuonOptions{.lr = 0.02, .ns_steps = 4, .coefficients = "minimax4"})}) {
    const auto* trasmuon = std::get_if<TrasMuonOptions>(&options);
    const bool skips = trasmuon == nullptr || trasmuon->skip_nonfinite;
    Twins<double> twins(options, options, memory);
    for (int t = 0; t < steps_of(50); ++t) twins.step(t % 7 == 3 ? 30 : 1, skips && t == 4 ? 2 : -1);
    EXPECT_LE(twins.distance(), 1e-11) << describe(options);
  }
}

TEST_F(CudaTrajectory, FollowsTheCpuWithEveryOptionAlone) {
  const std::vector<Item> items = {{{9, 14}}, {{20, 7}}, {{7, 20}}, {{70, 30}, true}};
  for (const Variant& variant : option_variants()) {
    Twins<double> twins(variant.options, variant.options, memory, items, 1, {.diagnostics = true});
    for (int t = 0; t < steps_of(15); ++t) twins.step(t % 7 == 3 ? 30 : 1);
    EXPECT_LE(twins.distance(), 1e-11) << variant.name;
    for (std::size_t i = 0; i < twins.count(); ++i) {
      const double ours = twins.gpu().diagnostics(i)[0].r_max, theirs = twins.cpu().diagnostics(i)[0].r_max;
      EXPECT_NEAR(ours, theirs, 1e-9 * theirs) << variant.name << ", parameter " << i;
    }
  }
}

// A recorded step has the kernels of the options it was recorded with.
TEST_F(CudaTrajectory, TheMatrixThatIsWatchedCanBeChanged) {
  Twins<double> twins(TrasMuonOptions{.lr = 0.02}, TrasMuonOptions{.lr = 0.02}, memory);
  for (const char* watched : {"momentum", "direction", "gradient", "momentum"}) {
    for (Optimizer* o : {&twins.cpu(), &twins.gpu()}) {
      Options options = o->options(0);
      set_field(options, "energy_of", watched);
      o->set_options(0, options);
    }
    for (int t = 0; t < 4; ++t) twins.step();
  }
  EXPECT_LE(twins.distance(), 1e-11);
}

TEST_F(CudaTrajectory, FollowsTheCpuFor200Steps) {
  const std::vector precisions = {NewtonSchulzPrecision::automatic, NewtonSchulzPrecision::f32,
                                  NewtonSchulzPrecision::tf32, NewtonSchulzPrecision::f16, NewtonSchulzPrecision::bf16};
  std::vector<Options> on_gpu;
  for (NewtonSchulzPrecision precision : precisions)
    on_gpu.emplace_back(TrasMuonOptions{.lr = 0.02, .ns_precision = precision});
  Twins<float> twins(TrasMuonOptions{.lr = 0.02, .ns_form = NewtonSchulzForm::standard}, on_gpu, memory);
  for (int t = 0; t < steps_of(200); ++t) twins.step(t % 7 == 3 ? 30 : 1, t == 4 ? 2 : -1);
  for (std::size_t k = 0; k < precisions.size(); ++k)
    EXPECT_LE(twins.distance(k), tolerance(precisions[k])) << get_field(on_gpu[k], "ns_precision");
}

TEST_F(CudaTrajectory, StandardFormIn16Bits) {
  const TrasMuonOptions on_cpu{.lr = 0.02, .ns_form = NewtonSchulzForm::standard};
  Twins<float> twins(
      on_cpu,
      TrasMuonOptions{.lr = 0.02, .ns_form = NewtonSchulzForm::standard, .ns_precision = NewtonSchulzPrecision::f16},
      memory);
  for (int t = 0; t < steps_of(50); ++t) twins.step();
  EXPECT_LE(twins.distance(), 1e-2);
}

TEST_F(CudaTrajectory, MomentumInBf16) {
  for (bool nesterov : {false, true}) {
    const TrasMuonOptions options{.lr = 0.02,
                                  .nesterov = nesterov,
                                  .ns_form = NewtonSchulzForm::standard,
                                  .ns_precision = NewtonSchulzPrecision::f32,
                                  .momentum_dtype = MomentumDType::bf16};
    Twins<float> twins(options, options, memory);
    for (int t = 0; t < steps_of(50); ++t) twins.step(t % 7 == 3 ? 30 : 1, t == 4 ? 2 : -1);
    // The last bit of f32 sometimes changes a rounding to bf16.
    EXPECT_LE(twins.distance(), 1e-3) << nesterov;
    EXPECT_EQ(twins.gpu().state_bytes(), twins.cpu().state_bytes());
  }
}

TEST_F(CudaTrajectory, ANonFiniteGradientIsSkippedAndCounted) {
  Twins<float> twins(TrasMuonOptions{}, TrasMuonOptions{}, memory);
  twins.step();
  const auto weights = memory.fetch<float>(twins.device_weight(2), twins.elements(2));
  const auto momentum = state<float>(twins.gpu(), 2, "momentum");
  twins.step(1, 2);
  EXPECT_EQ(memory.fetch<float>(twins.device_weight(2), twins.elements(2)), weights);
  EXPECT_EQ(state<float>(twins.gpu(), 2, "momentum"), momentum);
  EXPECT_EQ(state<std::int64_t>(twins.gpu(), 2, "step"), std::vector<std::int64_t>{1});
  EXPECT_EQ(state<std::int64_t>(twins.gpu(), 2, "skipped"), std::vector<std::int64_t>{1});
  EXPECT_EQ(state<std::int64_t>(twins.gpu(), 3, "step"), std::vector<std::int64_t>{2});
}

TEST_F(CudaTrajectory, SchedulesTakeEffect) {
  Twins<double> twins(TrasMuonOptions{}, TrasMuonOptions{}, memory);
  for (int t = 0; t < steps_of(20); ++t) {
    for (Optimizer* o : {&twins.cpu(), &twins.gpu()}) {
      o->set_lr(0.05 / (1 + t));
      o->set(0, "weight_decay", 0.1 * t);
    }
    twins.step();
  }
  EXPECT_LE(twins.distance(), 1e-11);
}

TEST_F(CudaTrajectory, TheScaleOfTheGradientDoesNotMatter) {
  const TrasMuonOptions options{.lr = 0.02};
  Twins<float> ordinary(options, options, memory), tiny(options, options, memory);
  for (int t = 0; t < steps_of(10); ++t) {
    ordinary.step(1);
    tiny.step(0x1p-40);
  }
  // Not to the bit: what eps adds to the norm, 1e-8 of it at most, may change a rounding.
  for (std::size_t i = 0; i < ordinary.count(); ++i) {
    const auto one = memory.fetch<float>(ordinary.device_weight(i), ordinary.elements(i));
    const auto other = memory.fetch<float>(tiny.device_weight(i), tiny.elements(i));
    for (std::size_t k = 0; k < one.size(); ++k) ASSERT_NEAR(one[k], other[k], 1e-3f);
  }
}

TEST_F(CudaTrajectory, SameInputSameBits) {
  const TrasMuonOptions options{.lr = 0.02};
  Twins<float> one(options, options, memory), other(options, options, memory);
  for (int t = 0; t < steps_of(20); ++t) one.step();
  for (int t = 0; t < steps_of(20); ++t) other.step();
  for (std::size_t i = 0; i < one.count(); ++i) {
    EXPECT_EQ(memory.fetch<float>(one.device_weight(i), one.elements(i)),
              memory.fetch<float>(other.device_weight(i), other.elements(i)));
  }
}

}  // namespace
}  // namespace trasmuon::test
