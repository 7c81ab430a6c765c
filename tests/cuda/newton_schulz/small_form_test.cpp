// SPDX-License-Identifier: Apache-2.0
//
// Short sides up to 128: on Hopper they have a kernel of their own.
#include "cuda/twins.h"

namespace trasmuon::test {
namespace {

using CudaSmall = OnGpu;

/// Padded to 64 and to 128; long sides in and across chunks of 64 and tiles of 256; lines that end
/// inside eight elements; equal shapes, which lie side by side; experts.
std::vector<Item> wide_and_tall() {
  return {{{5, 7}},    {{1, 40}},    {{40, 1}},   {{33, 65}},    {{65, 33}},   {{64, 64}},   {{64, 1024}},
          {{63, 257}}, {{515, 17}},  {{300, 40}}, {{300, 40}},   {{128, 200}}, {{200, 128}}, {{65, 999}},
          {{999, 65}}, {{127, 513}}, {{70, 70}},  {{3, 48, 40}}, {{8, 2000}},  {{2000, 8}}};
}

/// The same as [in, out]: no row squares from the last product.
std::vector<Item> transposed() {
  std::vector<Item> items = wide_and_tall();
  for (Item& item : items) item.transposed = true;
  return items;
}

/// How far the direction of one step may be from the CPU's. A model of the roundings gives 0.7 % for
/// square matrices in f16, 2 % with polar_express; bf16 has an eighth of the digits.
double direction_tolerance(NewtonSchulzPrecision precision) {
  return precision == NewtonSchulzPrecision::bf16 ? 0.15 : 0.03;
}

/// One step from zero weights: they are the direction then.
double direction_error(CudaMemory& memory, MuonOptions options, NewtonSchulzPrecision precision,
                       const std::vector<Item>& items) {
  options.ns_form = NewtonSchulzForm::standard;
  MuonOptions on_gpu = options;
  on_gpu.ns_form = NewtonSchulzForm::automatic;
  on_gpu.ns_precision = precision;
  Twins<float> twins(options, on_gpu, memory, items, 0);
  twins.step();
  return twins.distance();
}

TEST_F(CudaSmall, TheDirectionFollowsTheCpu) {
  for (NewtonSchulzPrecision precision : {NewtonSchulzPrecision::f16, NewtonSchulzPrecision::bf16}) {
    for (const Item& item : wide_and_tall())
      EXPECT_LE(direction_error(memory, {}, precision, {item}), direction_tolerance(precision))
          << to_string(item.shape);
    EXPECT_LE(direction_error(memory, {}, precision, transposed()), direction_tolerance(precision));
  }
}

TEST_F(CudaSmall, AnyNumberOfStepsAndAnyCoefficients) {
  for (const char* coefficients : {"keller", "you", "polar_express", "minimax4"}) {
    for (int steps : {1, 2, 3, 4, 6, 9}) {
      EXPECT_LE(direction_error(memory, {.ns_steps = steps, .coefficients = coefficients}, NewtonSchulzPrecision::f16,
                                wide_and_tall()),
                0.05)
          << coefficients << ", " << steps << " steps";
    }
  }
}

TEST_F(CudaSmall, MoreMatricesThanTheGpuHoldsAtOnce) {
  EXPECT_LE(direction_error(memory, {}, NewtonSchulzPrecision::f16, {{{1500, 24, 33}}, {{700, 72, 80}}}), 0.03);
}

TEST_F(CudaSmall, BesideLargeMatrices) {
  EXPECT_LE(
      direction_error(memory, {}, NewtonSchulzPrecision::f16, {{{300, 700}}, {{64, 700}}, {{129, 129}}, {{128, 129}}}),
      0.03);
}

TEST_F(CudaSmall, FollowsTheCpuFor100Steps) {
  const TrasMuonOptions on_cpu{.lr = 0.02, .ns_form = NewtonSchulzForm::standard};
  for (NewtonSchulzPrecision precision : {NewtonSchulzPrecision::f16, NewtonSchulzPrecision::bf16}) {
    for (const auto& items : {wide_and_tall(), transposed()}) {  // row squares from the kernel, and not
      Twins<float> twins(on_cpu, TrasMuonOptions{.lr = 0.02, .ns_precision = precision}, memory, items);
      for (int t = 0; t < 100; ++t) twins.step(t % 7 == 3 ? 30 : 1, t == 20 ? 3 : -1);
      EXPECT_LE(twins.distance(), tolerance(precision));
    }
  }
}

TEST_F(CudaSmall, SameInputSameBits) {
  const TrasMuonOptions options{.lr = 0.02};
  Twins<float> one(options, options, memory, wide_and_tall()), other(options, options, memory, wide_and_tall());
  for (int t = 0; t < 5; ++t) {
    one.step();
    other.step();
  }
  for (std::size_t i = 0; i < one.count(); ++i) {
    EXPECT_EQ(memory.fetch<float>(one.device_weight(i), one.elements(i)),
              memory.fetch<float>(other.device_weight(i), other.elements(i)));
  }
}

}  // namespace
}  // namespace trasmuon::test
