// SPDX-License-Identifier: Apache-2.0
// A pipeline can be cut between its phases: row shards of a matrix that exchange sums and rows give the whole step.
#include "cpu/step.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "optim/rule.h"
#include "support/model.h"

namespace trasmuon::cpu {
namespace {

/// A matrix with the state of TrasMuon, rows [first, last) of a larger one.
struct Shard {
  std::vector<double> w, g, momentum, v_row, c_ema, c_last, c_sum;
  double e_ref = 0, gamma_sum = 0;
  std::int64_t step = 0, skipped = 0;
  Matrix matrix;
  Workspace workspace;
  Intermediates<double> s;

  Shard(const std::vector<double>& whole, std::int64_t first, std::int64_t last, std::int64_t n)
      : w(whole.begin() + first * n, whole.begin() + last * n),
        g(w.size()),
        momentum(w.size()),
        v_row(static_cast<std::size_t>(last - first)),
        c_ema(static_cast<std::size_t>(n), 1),
        c_last(static_cast<std::size_t>(n), 1),
        c_sum(static_cast<std::size_t>(n)) {
    const auto stored = [&](std::vector<double>& x) { return MatrixView{x.data(), DType::f64, last - first, n, n}; };
    matrix.m = last - first;
    matrix.whole_m = static_cast<std::int64_t>(whole.size()) / n;
    matrix.n = n;
    matrix.compute = DType::f64;
    matrix.weight = stored(w);
    matrix.gradient = stored(g);
    matrix.momentum = stored(momentum);
    matrix.v_row = v_row.data();
    matrix.c_ema = c_ema.data();
    matrix.c_last = c_last.data();
    matrix.c_sum = c_sum.data();
    matrix.e_ref = &e_ref;
    matrix.gamma_sum = &gamma_sum;
    matrix.step = &step;
    matrix.skipped = &skipped;
  }
  Shard(const Shard&) = delete;

  void run(Phase phase, const MuonPipeline& plan) { run_phase(phase, plan, matrix, s, workspace.stage); }
};

std::span<double> direction(Shard& x) { return {x.s.direction.row<double>(0), x.w.size()}; }

/// One step of shards that are rows of one m x n matrix; between the phases they exchange what ranks exchange.
void step_shards(const MuonPipeline& plan, std::span<Shard* const> shards, std::int64_t m, std::int64_t n) {
  for (Shard* x : shards) {
    x->s = intermediates<double>(x->matrix, plan, x->workspace.step);
    ASSERT_TRUE(admit<double>(x->matrix, plan.skip_nonfinite));
    x->run(Phase::momentum, plan);
  }
  // All-reduce of energies and norm; the owner gathers the rows of the input.
  std::vector<double> energy(static_cast<std::size_t>(n)), input;
  double squares = 0;
  for (Shard* x : shards) {
    for (std::size_t j = 0; j < energy.size(); ++j) energy[j] += x->s.column_energy[j];
    squares += x->s.input_squares;
    for (std::int64_t i = 0; i < x->matrix.m; ++i) {
      const double* row = x->s.input.row<double>(i);
      input.insert(input.end(), row, row + n);
    }
  }
  std::vector<double> output(input.size());
  Intermediates<double> owner{};
  owner.input = {input.data(), DType::f64, m, n, n};
  owner.direction = {output.data(), DType::f64, m, n, n};
  owner.input_squares = squares;
  Scratch scratch;
  run_phase(Phase::orthogonalize, plan, {}, owner, scratch);
  // The rows of O go back.
  std::size_t at = 0;
  for (Shard* x : shards) {
    std::copy_n(output.data() + at, x->w.size(), direction(*x).data());
    at += x->w.size();
    x->run(Phase::row_scale, plan);
  }
  double base_squares = 0;
  for (Shard* x : shards) base_squares += x->s.base_squares;
  for (Shard* x : shards) {
    std::copy(energy.begin(), energy.end(), x->s.column_energy);
    x->s.base_squares = base_squares;
    x->run(Phase::apply, plan);
  }
}

TEST(Step, RowShardsThatExchangeDataBetweenPhasesTakeTheWholeStep) {
  constexpr std::int64_t m = 37, n = 24;
  std::mt19937_64 rng(5);
  const auto w0 = test::random_values<double>(m * n, rng);
  for (const bool nesterov : {false, true}) {
    const TrasMuonOptions options{
        .lr = 0.02, .eps = 1e-12, .nesterov = nesterov, .trigger = 1, .min_damped_dim = 1, .eps_calibration = 1e-12};
    test::Single<double> whole(options, w0, {m, n});
    Shard upper(w0, 0, 30, n), lower(w0, 30, m, n);
    Shard* const shards[] = {&upper, &lower};
    const MuonPipeline plan = pipeline_of(options);
    for (int step = 0; step < 50; ++step) {
      auto g = test::random_values<double>(m * n, rng);
      if (step % 9 == 4) {
        for (std::size_t i = 3; i < g.size(); i += n) g[i] *= 40;
      }
      std::copy_n(g.begin(), upper.g.size(), upper.g.begin());
      std::copy(g.begin() + static_cast<std::ptrdiff_t>(upper.g.size()), g.end(), lower.g.begin());
      whole.step(g);
      step_shards(plan, shards, m, n);
    }
    for (std::size_t i = 0; i < w0.size(); ++i) {
      const double ours = i < upper.w.size() ? upper.w[i] : lower.w[i - upper.w.size()];
      EXPECT_NEAR(ours, whole.w[i], 1e-9);
    }
    EXPECT_LT(*std::min_element(upper.c_last.begin(), upper.c_last.end()), 0.9) << "a test without damping";
  }
}

TEST(Step, AMatrixWithoutAGradientIsLeftAlone) {
  Shard x(std::vector<double>(12, 1.0), 0, 3, 4);
  x.matrix.gradient = {};
  Workspace workspace;
  for (const Plan& plan : {Plan(pipeline_of(TrasMuonOptions{})), Plan(AdamWOptions{})}) step(plan, x.matrix, workspace);
  EXPECT_EQ(x.w, std::vector<double>(12, 1.0));
  EXPECT_EQ(x.step, 0);
}

}  // namespace
}  // namespace trasmuon::cpu
