// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>

#include "support/model.h"

namespace trasmuon {
namespace {

using test::random_values;
using test::Single;

/// Runs the same problem with W and G of the given types and in f32. Returns the largest difference of the weights in
/// units of the largest weight.
template <class W, class G>
double against_f32(const Options& rule, bool master) {
  std::mt19937_64 rng(61);
  const auto w0 = random_values<W>(9 * 14, rng);
  std::vector<float> wide0;
  for (W x : w0) wide0.push_back(static_cast<float>(test::to_double(x)));
  Single<W> small(rule, w0, {9, 14}, {}, {.master_weights = master});
  Single<float> wide(rule, wide0, {9, 14});
  for (int step = 0; step < 10; ++step) {
    const auto g = random_values<G>(9 * 14, rng);
    std::vector<float> wide_g;
    for (G x : g) wide_g.push_back(static_cast<float>(test::to_double(x)));
    small.step(g);
    wide.step(wide_g);
  }
  if (master) {  // the master is the f32 run, bit for bit
    const auto* values = static_cast<const float*>(small.optimizer.state(0, "master").data);
    for (std::size_t i = 0; i < wide.w.size(); ++i) EXPECT_EQ(values[i], wide.w[i]) << rule_name(rule);
  }
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < wide.w.size(); ++i) {
    worst = std::max(worst, std::abs(test::to_double(small.w[i]) - static_cast<double>(wide.w[i])));
    largest = std::max(largest, std::abs(static_cast<double>(wide.w[i])));
  }
  return worst / largest;
}

TEST(Precision, SmallTypesFollowF32WithinTheirRounding) {
  for (const Options& rule : test::all_rules()) {
    // Ten roundings of half a unit in the last place each: 2^-9 for bf16, 2^-12 for f16.
    EXPECT_LE((against_f32<bf16, bf16>(rule, false)), 10 * 0x1p-9) << rule_name(rule);
    EXPECT_LE((against_f32<f16, f16>(rule, false)), 10 * 0x1p-12) << rule_name(rule);
    EXPECT_LE((against_f32<bf16, float>(rule, false)), 10 * 0x1p-9) << rule_name(rule);
    // Widening is exact; what differs is which product the compiler fuses into an addition.
    EXPECT_LE((against_f32<float, bf16>(rule, false)), 1e-6) << rule_name(rule);
    EXPECT_LE((against_f32<float, f16>(rule, false)), 1e-6) << rule_name(rule);
  }
}

TEST(Precision, MasterWeightsRoundOnlyOnce) {
  for (const Options& rule : test::all_rules()) {
    EXPECT_LE((against_f32<bf16, bf16>(rule, true)), 0x1p-8) << rule_name(rule);
    EXPECT_LE((against_f32<f16, float>(rule, true)), 0x1p-11) << rule_name(rule);
  }
}

TEST(Precision, AnIterationInBf16StaysNearF32) {
  // As for CUDA: weights of order one after 200 steps with lr 0.02. Every step rounds the direction, so the distance
  // grows with the square root of the number of steps.
  for (const Shape shape : {Shape{64, 64}, Shape{48, 150}, Shape{150, 70}}) {
    std::mt19937_64 rng(62);
    const auto w0 = random_values<float>(shape.elements(), rng);
    Single<float> f32(TrasMuonOptions{.lr = 0.02}, w0, shape);
    Single<float> half(TrasMuonOptions{.lr = 0.02, .ns_precision = NewtonSchulzPrecision::bf16}, w0, shape);
    for (int step = 0; step < 200; ++step) {
      const auto g = random_values<float>(shape.elements(), rng);
      f32.step(g);
      half.step(g);
    }
    double squares = 0, worst = 0;
    for (std::size_t i = 0; i < w0.size(); ++i) {
      const double difference = static_cast<double>(half.w[i]) - static_cast<double>(f32.w[i]);
      squares += difference * difference;
      worst = std::max(worst, std::abs(difference));
    }
    EXPECT_LE(std::sqrt(squares / static_cast<double>(w0.size())), 1e-2) << to_string(shape);
    EXPECT_LE(worst, 5e-2) << to_string(shape);
    EXPECT_GE(worst, 1e-4) << "this is not bf16";
  }
}

TEST(Precision, UpdatesBelowTheRoundingOfBf16NeedTheMaster) {
  const AdamWOptions rule{.lr = 1e-4, .weight_decay = 0};
  const std::vector<float> g(4, 1.0f);
  Single<bf16> without(rule, std::vector<bf16>(4, to_bf16(1.0f)), {4});
  Single<bf16> with(rule, std::vector<bf16>(4, to_bf16(1.0f)), {4}, {}, {.master_weights = true});
  for (int step = 0; step < 100; ++step) {
    without.step(g);
    with.step(g);
  }
  EXPECT_EQ(to_float(without.w[0]), 1.0f);
  EXPECT_NEAR(to_float(with.w[0]), 0.99f, 0x1p-8f);
}

std::vector<Options> rules_with_bf16_momentum() {
  std::vector<Options> rules;
  for (bool nesterov : {false, true}) {
    rules.push_back(TrasMuonOptions{.nesterov = nesterov, .momentum_dtype = MomentumDType::bf16, .min_damped_dim = 1});
    rules.push_back(NorMuonOptions{.nesterov = nesterov, .momentum_dtype = MomentumDType::bf16});
    rules.push_back(MuonOptions{.nesterov = nesterov, .momentum_dtype = MomentumDType::bf16});
    rules.push_back(
        TrasMuonOptions{.nesterov = nesterov, .momentum_dtype = MomentumDType::bf16, .orthogonalize = false});
  }
  return rules;
}

TEST(Precision, AMomentumInBf16IsRoundedOnlyWhereItIsKept) {
  for (const Options& rule : rules_with_bf16_momentum()) {
    Options wide_rule = rule;
    set_field(wide_rule, "momentum_dtype", "automatic");
    for (bool transposed : {false, true}) {
      const auto adjust = [&](Parameter& p) { p.transposed = transposed; };
      std::mt19937_64 rng(62);
      const auto w0 = random_values<float>(9 * 14, rng);
      Single<float> small(rule, w0, {9, 14}, adjust), wide(wide_rule, w0, {9, 14}, adjust);
      const auto first = random_values<float>(9 * 14, rng);
      small.step(first);
      wide.step(first);
      EXPECT_EQ(small.w, wide.w) << describe(rule);
      const auto* kept = static_cast<const bf16*>(small.optimizer.state(0, "momentum").data);
      const auto* exact = static_cast<const float*>(wide.optimizer.state(0, "momentum").data);
      for (std::size_t i = 0; i < w0.size(); ++i) EXPECT_EQ(kept[i].bits, to_bf16(exact[i]).bits);

      for (int step = 1; step < 20; ++step) {
        const auto g = random_values<float>(9 * 14, rng);
        small.step(g);
        wide.step(g);
      }
      // Each step moves a weight by lr times a direction of which 2^-9, amplified by the iteration, is noise.
      const double lr = std::visit([](const auto& o) { return o.lr; }, rule);
      for (std::size_t i = 0; i < w0.size(); ++i) EXPECT_NEAR(small.w[i], wide.w[i], 20 * lr * 0.05) << describe(rule);
    }
  }
}

TEST(Precision, AMomentumInBf16TakesHalfAndIsRefusedForF64) {
  const TrasMuonOptions rule{.momentum_dtype = MomentumDType::bf16};
  Single<float> one(rule, std::vector<float>(64 * 48), {64, 48});
  EXPECT_EQ(one.optimizer.state_bytes(), 64u * 48u * 2u + 64u * 4u + 48u * (4 + 4 + 8) + 4u * 8u);
  EXPECT_EQ(test::error_of([&] {
              Single<double>(rule, std::vector<double>(12), {3, 4});
            }),
            "trasmuon: momentum_dtype must be automatic with f64 weights, got bf16");
  EXPECT_EQ(test::error_of([&] { one.optimizer.set_options(0, TrasMuonOptions{}); }),
            "group 0: trasmuon's momentum_dtype cannot change after construction: it shapes the state");
}

TEST(Precision, AWeightWrittenFromOutsideReachesItsMaster) {
  Single<bf16> one(MuonOptions{}, std::vector<bf16>(12, to_bf16(1.0f)), {3, 4}, {}, {.master_weights = true});
  std::fill(one.w.begin(), one.w.end(), to_bf16(3.0f));
  one.optimizer.refresh_master(0);
  one.step(std::vector<float>(12, 0.0f));
  for (bf16 w : one.w) EXPECT_EQ(to_float(w), 3.0f);
}

TEST(Precision, AMasterReadsItsRowsAndNotWhatLiesBetweenThem) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* memory = mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* rows = static_cast<bf16*>(memory);
  const auto stride = static_cast<std::int64_t>(2 * page / sizeof(bf16));
  for (std::int64_t j = 0; j < 5; ++j) {
    rows[j] = to_bf16(static_cast<float>(j));
    rows[stride + j] = to_bf16(static_cast<float>(10 + j));
  }
  ASSERT_EQ(mprotect(static_cast<char*>(memory) + page, page, PROT_NONE), 0);
  Optimizer optimizer({{MuonOptions{}, {{"w", view(rows, {2, 5}, stride)}}}}, {.master_weights = true});
  rows[1] = to_bf16(7.0f);
  optimizer.refresh_master(0);
  const auto* master = static_cast<const float*>(optimizer.state(0, "master").data);
  EXPECT_EQ(std::vector<float>(master, master + 10), (std::vector<float>{0, 7, 2, 3, 4, 10, 11, 12, 13, 14}));
  munmap(memory, 3 * page);
}

}  // namespace
}  // namespace trasmuon
