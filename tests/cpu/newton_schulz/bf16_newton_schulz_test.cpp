// SPDX-License-Identifier: Apache-2.0
#include "cpu/newton_schulz/bf16_newton_schulz.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "optim/rule.h"
#include "stages/newton_schulz_form.h"
#include "support/error_of.h"
#include "support/reference.h"
#include "trasmuon/trasmuon.h"

namespace trasmuon::cpu {
namespace {

using test::Dense;

Dense run(const Dense& a, const std::string& set, int steps, NewtonSchulzForm form) {
  std::vector<float> in(a.data.begin(), a.data.end()), out(in.size());
  orthogonalize(view(in.data(), {a.rows, a.cols}), view(out.data(), {a.rows, a.cols}),
                {.steps = steps, .coefficients = set, .form = form, .precision = NewtonSchulzPrecision::bf16});
  Dense result(a.rows, a.cols);
  std::copy(out.begin(), out.end(), result.data.begin());
  return result;
}

double relative_error(const Dense& a, const Dense& exact) {
  Dense difference = a;
  for (std::size_t i = 0; i < a.data.size(); ++i) difference.data[i] -= exact.data[i];
  return test::frobenius(difference) / test::frobenius(exact);
}

std::vector<double> singular_values(const Dense& a) {
  Dense vectors;
  std::vector<double> values;
  test::symmetric_eigen(
      a.rows <= a.cols ? test::multiply(a, test::transpose(a)) : test::multiply(test::transpose(a), a), vectors,
      values);
  for (double& value : values) value = std::sqrt(std::max(0.0, value));
  return values;
}

const std::pair<std::int64_t, std::int64_t> kMatrices[] = {{16, 16},  {17, 33},  {33, 17},   {64, 64},   {65, 64},
                                                           {64, 200}, {200, 64}, {127, 257}, {257, 127}, {96, 96}};

TEST(Bf16NewtonSchulz, FollowsDoubleWithinItsRounding) {
  std::mt19937_64 rng(21);
  for (const auto& [rows, cols] : kMatrices) {
    const Dense a = test::random_normal(rows, cols, rng);
    for (const CoefficientSet& set : coefficient_sets()) {
      for (const NewtonSchulzForm form : {NewtonSchulzForm::standard, NewtonSchulzForm::gram}) {
        const auto triples = newton_schulz_triples(set.name, 5);
        const Dense exact = test::newton_schulz(a, 1 / test::frobenius(a), triples);
        const double error = relative_error(run(a, std::string(set.name), 5, form), exact);
        // The small singular values of a square matrix are lost in R, and polar_express lets them grow most.
        EXPECT_LE(error, form == NewtonSchulzForm::gram ? 0.2 : 0.06)
            << rows << "x" << cols << " " << set.name << " form " << static_cast<int>(form);
        EXPECT_GE(error, 1e-4) << "this is not bf16";
      }
    }
  }
}

// Directions that X has not are rounding noise in R, which must not grow until the iteration diverges.
TEST(Bf16NewtonSchulz, NoiseOfLowRankStaysSmall) {
  std::mt19937_64 rng(24);
  for (const CoefficientSet& set : coefficient_sets()) {
    const int steps = std::string(set.name) == "minimax4" ? 4 : 5;
    for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{96, 256}, {160, 64}}) {
      for (const std::int64_t rank : {1, 2, 4, 16}) {
        for (int trial = 0; trial < 3; ++trial) {
          Dense left = test::random_normal(rows, rank, rng);
          for (std::int64_t j = 0; j < rank; ++j)
            for (std::int64_t i = 0; i < rows; ++i) left(i, j) *= std::pow(trial == 0 ? 1.0 : 0.5, j);
          const Dense a = test::multiply(left, test::random_normal(rank, cols, rng));
          for (const NewtonSchulzForm form : {NewtonSchulzForm::standard, NewtonSchulzForm::gram}) {
            const std::vector<double> values = singular_values(run(a, std::string(set.name), steps, form));
            EXPECT_LE(*std::max_element(values.begin(), values.end()), 1.5)
                << set.name << " " << rows << "x" << cols << " rank " << rank << " form " << static_cast<int>(form);
          }
        }
      }
    }
  }
}

TEST(Bf16NewtonSchulz, RecomputesRBeforeNoiseGrows) {
  const auto after = [](const char* set, int steps, DType type) {
    std::string text;
    for (const bool restart : gram_restarts(newton_schulz_triples(set, steps), type)) text += restart ? "R" : ".";
    return text;
  };
  for (const char* set : {"keller", "you"}) {
    EXPECT_EQ(after(set, 5, DType::bf16), ".R...");
    EXPECT_EQ(after(set, 9, DType::f16), ".R..R..R.");
  }
  EXPECT_EQ(after("minimax4", 4, DType::bf16), ".R..");
  EXPECT_EQ(after("polar_express", 5, DType::f16), ".R...");
  EXPECT_EQ(after("polar_express", 5, DType::bf16), ".R.R.");
}

TEST(Bf16NewtonSchulz, SingularValuesLandInTheBandOfTheSet) {
  std::mt19937_64 rng(22);
  for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{64, 160}, {160, 64}, {48, 96}, {130, 300}}) {
    const Dense a = test::random_normal(rows, cols, rng);
    for (const NewtonSchulzForm form : {NewtonSchulzForm::standard, NewtonSchulzForm::gram}) {
      for (const double value : singular_values(run(a, "keller", 5, form))) {
        EXPECT_GE(value, 0.682 - 0.03);
        EXPECT_LE(value, 1.134 + 0.03);
      }
    }
  }
}

TEST(Bf16NewtonSchulz, StaysBoundedForAnyNumberOfStepsAndAnyRank) {
  std::mt19937_64 rng(23);
  for (const std::int64_t rank : {1, 3, 40}) {
    const Dense a = test::multiply(test::random_normal(40, rank, rng), test::random_normal(rank, 90, rng));
    for (const CoefficientSet& set : coefficient_sets()) {
      for (const int steps : {3, 5, 6, 7, 8, 9, 10, 11, 12, 15, 30, 100}) {
        for (const NewtonSchulzForm form : {NewtonSchulzForm::standard, NewtonSchulzForm::gram}) {
          const double size = test::frobenius(run(a, std::string(set.name), steps, form));
          EXPECT_LE(size, 1.25 * std::sqrt(40.0)) << set.name << " " << steps << " rank " << rank;
        }
      }
    }
  }
}

TEST(Bf16NewtonSchulz, F64AndThinMatricesIterateInTheirOwnType) {
  std::mt19937_64 rng(24);
  const Dense a = test::random_normal(40, 50, rng);
  std::vector<double> exact(a.data.size()), same(a.data.size());
  orthogonalize(view(a.data.data(), {40, 50}), view(exact.data(), {40, 50}));
  orthogonalize(view(a.data.data(), {40, 50}), view(same.data(), {40, 50}), {.precision = NewtonSchulzPrecision::bf16});
  EXPECT_EQ(exact, same);
  const std::vector<float> thin(15 * 100, 0.5f);
  std::vector<float> f32(thin.size()), bf16(thin.size());
  orthogonalize(view(thin.data(), {15, 100}), view(f32.data(), {15, 100}));
  orthogonalize(view(thin.data(), {15, 100}), view(bf16.data(), {15, 100}), {.precision = NewtonSchulzPrecision::bf16});
  EXPECT_EQ(f32, bf16);
}

TEST(Bf16NewtonSchulz, OtherFormatsAreRefusedOnTheCpu) {
  std::vector<float> x(4);
  EXPECT_EQ(test::error_of([&] {
              orthogonalize(view(x.data(), {2, 2}), view(x.data(), {2, 2}), {.precision = NewtonSchulzPrecision::f16});
            }),
            "orthogonalize: precision must be automatic, f32 or bf16 on the CPU, got 'f16'");
}

}  // namespace
}  // namespace trasmuon::cpu
