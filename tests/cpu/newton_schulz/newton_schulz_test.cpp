// SPDX-License-Identifier: Apache-2.0
#include "cpu/newton_schulz/newton_schulz.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "optim/rule.h"
#include "stages/newton_schulz_form.h"
#include "support/error_of.h"
#include "support/reference.h"
#include "trasmuon/trasmuon.h"

namespace trasmuon {
namespace {

using test::Dense;

double polynomial(double x, const std::vector<NewtonSchulzTriple>& triples) {
  for (const auto& t : triples) x = x * (t.a + x * x * (t.b + t.c * x * x));
  return x;
}

double through(double sigma, const void* triples) {
  return polynomial(sigma, *static_cast<const std::vector<NewtonSchulzTriple>*>(triples));
}

/// U diag(spectrum) V^T with random orthonormal U, V.
Dense with_spectrum(const std::vector<double>& spectrum, std::int64_t rows, std::int64_t cols, std::mt19937_64& rng) {
  const Dense left = test::polar(test::random_normal(rows, static_cast<std::int64_t>(spectrum.size()), rng));
  Dense right = test::polar(test::random_normal(static_cast<std::int64_t>(spectrum.size()), cols, rng));
  for (std::size_t k = 0; k < spectrum.size(); ++k) {
    for (std::int64_t j = 0; j < cols; ++j) right(static_cast<std::int64_t>(k), j) *= spectrum[k];
  }
  return test::multiply(left, right);
}

double largest(const Dense& a) {
  double value = 0;
  for (double x : a.data) value = std::max(value, std::abs(x));
  return value;
}

template <class T>
Dense run(const Dense& a, const std::string& set, int steps, NewtonSchulzForm form) {
  std::vector<T> in(a.data.begin(), a.data.end()), out(in.size());
  orthogonalize(view(in.data(), {a.rows, a.cols}), view(out.data(), {a.rows, a.cols}),
                {.steps = steps, .coefficients = set, .form = form, .eps = 1e-12});
  Dense result(a.rows, a.cols);
  std::copy(out.begin(), out.end(), result.data.begin());
  return result;
}

double difference(const Dense& a, const Dense& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.data.size(); ++i) worst = std::max(worst, std::abs(a.data[i] - b.data[i]));
  return worst;
}

struct Spectrum {
  const char* name;
  std::vector<double> values;
};

std::vector<Spectrum> zoo() {
  std::vector<Spectrum> list = {{"rank one", {1.0}}, {"equal", std::vector<double>(24, 1.0)}};
  std::vector<double> clustered, power, exponential, gap;
  for (int i = 0; i < 24; ++i) {
    clustered.push_back(i < 8 ? 1.0 + 1e-9 * i : i < 16 ? 0.1 + 1e-9 * i : 0.01);
    power.push_back(std::pow(i + 1, -1.5));
    exponential.push_back(std::pow(10.0, -4.0 * i / 23));
    gap.push_back(i < 2 ? 1.0 : 1e-3);
  }
  list.push_back({"clustered", clustered});
  list.push_back({"power law", power});
  list.push_back({"exponential", exponential});
  list.push_back({"gap", gap});
  return list;
}

TEST(Coefficients, ArePositiveOnTheUnitIntervalAndInsideTheirBand) {
  struct Band {
    const char* set;
    int steps;
    double low, high;
  };
  for (const Band& band :
       {Band{"keller", 5, 0.682, 1.134}, Band{"you", 5, 0.978, 1.032}, Band{"polar_express", 5, 0.870, 1.124},
        Band{"polar_express", 8, 0.999, 1.001}, Band{"minimax4", 4, 0.790, 1.210}}) {
    const auto triples = newton_schulz_triples(band.set, band.steps);
    double low = 9, high = 0;
    for (int i = 1; i <= 100000; ++i) {
      const double sigma = i / 100000.0, value = polynomial(sigma, triples);
      ASSERT_GT(value, 0) << band.set << " turns sigma " << sigma << " round: ascent instead of descent";
      if (sigma < 0.01) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    EXPECT_GE(low, band.low - 1e-3) << band.set;
    EXPECT_LE(high, band.high + 1e-3) << band.set;
    // The band is tight: a wrong digit in a coefficient would widen or move it.
    EXPECT_LE(low, band.low + 5e-3) << band.set;
    EXPECT_GE(high, band.high - 5e-3) << band.set;
  }
}

TEST(Coefficients, EveryPrefixStaysPositive) {
  for (const CoefficientSet& set : coefficient_sets()) {
    for (int steps = 1; steps <= 12; ++steps) {
      const auto triples = newton_schulz_triples(set.name, steps);
      for (int i = 1; i <= 2000; ++i) ASSERT_GT(polynomial(i / 2000.0, triples), 0) << set.name << " " << steps;
    }
  }
}

TEST(Coefficients, TheCallersOwnListIsUsedAndChecked) {
  const auto triples = newton_schulz_triples("3.4445, -4.7750,2.0315 ; 1.875,-1.25,0.375", 4);
  ASSERT_EQ(triples.size(), 4u);
  EXPECT_EQ(triples[0].b, -4.775);
  EXPECT_EQ(triples[1].a, 1.875);
  EXPECT_EQ(triples[3].c, 0.375);
  std::mt19937_64 rng(16);
  const Dense a = test::random_normal(9, 14, rng);
  EXPECT_EQ(difference(run<double>(a, "3.4445,-4.7750,2.0315", 5, NewtonSchulzForm::standard),
                       run<double>(a, "keller", 5, NewtonSchulzForm::standard)),
            0);
  const auto error = [](const char* text) { return test::error_of([&] { newton_schulz_triples(text, 5); }); };
  for (const char* text : {"", "1,2", "1,2,3,", "1,2;3", "1;2;3", "1,2,3;;4,5,6", "x,2,3", "1,2,3,4,5,6"}) {
    EXPECT_EQ(error(text),
              "coefficients must be one of keller, you, polar_express, minimax4, got '" + std::string(text) + "'");
  }
  // p(1) = -1; and 4 x grows without bound.
  EXPECT_EQ(error("5,-9,3"),
            "coefficients must keep singular values from (0, 1] in (0, 10), got '5,-9,3', which fails at step 1");
  EXPECT_NE(error("4,0,0"), "no error");
}

TEST(NewtonSchulz, MapsEverySingularValueThroughThePolynomial) {
  std::mt19937_64 rng(11);
  for (const Spectrum& spectrum : zoo()) {
    for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{24, 24}, {24, 70}, {61, 25}}) {
      const Dense a = with_spectrum(spectrum.values, rows, cols, rng);
      Dense unit = a;
      const double norm = test::frobenius(a);
      for (double& x : unit.data) x /= norm;
      for (const CoefficientSet& set : coefficient_sets()) {
        const int steps = std::string(set.name) == "minimax4" ? 4 : 5;
        const auto triples = newton_schulz_triples(set.name, steps);
        const Dense exact = test::apply_to_singular_values(unit, through, &triples);
        const double scale = largest(exact);
        for (NewtonSchulzForm form : {NewtonSchulzForm::standard, NewtonSchulzForm::gram}) {
          SCOPED_TRACE(testing::Message() << spectrum.name << " " << rows << "x" << cols << " " << set.name << " form "
                                          << static_cast<int>(form));
          // The exact factor comes from an eigendecomposition of A A^T, accurate to 1e-6 for small sigma.
          EXPECT_LE(difference(run<double>(a, std::string(set.name), steps, form), exact), 2e-6 * scale);
          // In f32 the Gram form loses the squares of small singular values: docs/decisions/0002-gram-form.md.
          const double single = form == NewtonSchulzForm::gram ? 1e-2 : 5e-4;
          EXPECT_LE(difference(run<float>(a, std::string(set.name), steps, form), exact), single * scale);
        }
      }
    }
  }
}

TEST(NewtonSchulz, ConvergesToThePolarFactorWhereTheSpectrumAllows) {
  std::mt19937_64 rng(12);
  const Dense a = with_spectrum({1.0, 0.9, 0.7, 0.5, 0.4, 0.3, 0.2, 0.1}, 8, 19, rng);
  const Dense exact = test::polar(a);
  EXPECT_LE(difference(run<double>(a, "polar_express", 12, NewtonSchulzForm::automatic), exact), 1e-9);
  EXPECT_LE(difference(run<float>(a, "polar_express", 12, NewtonSchulzForm::automatic), exact), 1e-5);
}

TEST(NewtonSchulz, FormsAgreeWithThePlainIterationOnOddShapes) {
  std::mt19937_64 rng(13);
  const std::pair<std::int64_t, std::int64_t> shapes[] = {{1, 1},   {1, 9},    {9, 1},   {5, 7},
                                                          {33, 65}, {127, 57}, {40, 257}};
  for (const auto& [rows, cols] : shapes) {
    const Dense a = test::random_normal(rows, cols, rng);
    for (int steps : {0, 1, 2, 3, 5, 8}) {
      const Dense exact =
          test::newton_schulz(a, 1 / (test::frobenius(a) + 1e-12), newton_schulz_triples("keller", steps));
      for (NewtonSchulzForm form : {NewtonSchulzForm::standard, NewtonSchulzForm::gram, NewtonSchulzForm::automatic}) {
        EXPECT_LE(difference(run<double>(a, "keller", steps, form), exact), 1e-12 * (1 + largest(exact)));
        EXPECT_LE(difference(run<float>(a, "keller", steps, form), exact), 1e-4 * (1 + largest(exact)));
      }
    }
  }
}

TEST(NewtonSchulz, ManyStepsOnADeficientMatrixStayBounded) {
  // Rounding makes R indefinite where X lacks rank; in the Gram form this must not diverge. (With enough steps any form
  // turns the rounding errors of X into directions: a norm of at most sqrt(40).)
  std::mt19937_64 rng(15);
  const Dense a = with_spectrum({1.0, 0.5, 0.1}, 40, 90, rng);
  for (const CoefficientSet& set : coefficient_sets()) {
    for (int steps : {5, 6, 7, 8, 10, 11, 15, 30, 100}) {
      for (NewtonSchulzForm form : {NewtonSchulzForm::standard, NewtonSchulzForm::gram}) {
        EXPECT_LE(test::frobenius(run<float>(a, std::string(set.name), steps, form)), 1.2 * std::sqrt(40.0))
            << set.name << " " << steps;
        EXPECT_LE(test::frobenius(run<double>(a, std::string(set.name), steps, form)), 1.2 * std::sqrt(40.0))
            << set.name << " " << steps;
      }
    }
  }
}

TEST(NewtonSchulz, TheCheaperFormIsChosen) {
  const auto choose_form = [](std::int64_t rows, std::int64_t cols, int steps, DType iterates) {
    return trasmuon::choose_form(rows, cols, newton_schulz_triples("keller", steps), iterates);
  };
  EXPECT_EQ(choose_form(768, 768, 5, DType::f32), NewtonSchulzForm::standard);
  EXPECT_EQ(choose_form(768, 3072, 5, DType::f32), NewtonSchulzForm::gram);
  EXPECT_EQ(choose_form(3072, 768, 5, DType::f64), NewtonSchulzForm::gram);
  EXPECT_EQ(choose_form(64, 640, 1, DType::f64), NewtonSchulzForm::standard);
  EXPECT_EQ(choose_form(32, 640, 5, DType::f64), NewtonSchulzForm::standard);
}

TEST(Orthogonalize, WorksInPlaceOnBatchesStridesAndSmallTypes) {
  std::mt19937_64 rng(14);
  const std::int64_t stride = 13;
  std::vector<float> batch(3 * 6 * stride, 77.0f);
  std::vector<Dense> expected;
  for (std::int64_t e = 0; e < 3; ++e) {
    const Dense a = test::random_normal(6, 10, rng);
    expected.push_back(test::newton_schulz(a, 1 / test::frobenius(a), newton_schulz_triples("keller", 5)));
    for (std::int64_t i = 0; i < 6; ++i) {
      for (std::int64_t j = 0; j < 10; ++j)
        batch[static_cast<std::size_t>((e * 6 + i) * stride + j)] = static_cast<float>(a(i, j));
    }
  }
  std::vector<bf16> small(3 * 6 * 10);
  const TensorView in = view(batch.data(), {3, 6, 10}, stride);
  orthogonalize(in, view(small.data(), {3, 6, 10}));
  orthogonalize(in, in);
  for (std::int64_t e = 0; e < 3; ++e) {
    for (std::int64_t i = 0; i < 6; ++i) {
      for (std::int64_t j = 0; j < 10; ++j) {
        EXPECT_NEAR(batch[static_cast<std::size_t>((e * 6 + i) * stride + j)],
                    expected[static_cast<std::size_t>(e)](i, j), 1e-5);
        EXPECT_NEAR(to_float(small[static_cast<std::size_t>((e * 6 + i) * 10 + j)]),
                    expected[static_cast<std::size_t>(e)](i, j), 4e-3);
      }
      EXPECT_EQ(batch[static_cast<std::size_t>((e * 6 + i) * stride + 10)], 77.0f);
    }
  }
}

TEST(Orthogonalize, AnyFiniteDoubleWorks) {
  std::mt19937_64 rng(8);
  const test::Dense a = test::random_normal(6, 9, rng);
  const Shape shape{6, 9};
  std::vector<double> expected(a.data), x(a.data.size());
  orthogonalize(view(expected.data(), shape), view(expected.data(), shape), {.eps = 0});
  for (int exponent : {-1000, -600, -540, -400, 400, 510, 540, 1000}) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::ldexp(a.data[i], exponent);
    orthogonalize(view(x.data(), shape), view(x.data(), shape), {.eps = 0});
    EXPECT_EQ(x, expected) << "2^" << exponent;
  }
  // A subnormal number and the largest; eps dwarfs the first.
  for (const double value : {std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max()}) {
    for (const double eps : {0.0, 1e-7}) {
      x.assign(x.size(), value);
      orthogonalize(view(x.data(), shape), view(x.data(), shape), {.eps = eps});
      for (const double y : x) EXPECT_TRUE(std::isfinite(y)) << value << " " << eps;
      if (eps == 0 || value > 1) {
        EXPECT_GT(x[0], 0.05) << value << " " << eps;
      }
    }
  }
}

TEST(Orthogonalize, ZeroStaysZeroAndErrorsNameTheArgument) {
  std::vector<double> zero(12, 0.0);
  orthogonalize(view(zero.data(), {3, 4}), view(zero.data(), {3, 4}), {.eps = 0});
  EXPECT_EQ(zero, std::vector<double>(12, 0.0));
  const TensorView x = view(zero.data(), {3, 4});
  float other[12];
  EXPECT_EQ(test::error_of([&] {
              orthogonalize(x, view(zero.data(), {4, 3}));
            }),
            "orthogonalize: out's shape must be [3, 4], got [4, 3]");
  EXPECT_EQ(test::error_of([&] {
              orthogonalize(x, view(other, {3, 4}));
            }),
            "orthogonalize: in and out must both be f64, or neither, got f64 and f32");
  EXPECT_EQ(test::error_of([&] { orthogonalize(x, x, {.steps = -1}); }),
            "orthogonalize: steps must be in [0, 100], got -1");
  EXPECT_EQ(test::error_of([&] { orthogonalize(x, x, {.coefficients = "keler"}); }),
            "coefficients must be one of keller, you, polar_express, minimax4, got 'keler'");
  EXPECT_EQ(test::error_of([&] { orthogonalize(view(zero.data(), {12}), view(zero.data(), {12})); }),
            "parameter 'in': a matrix rule needs at least two dimensions, got shape [12]; use adamw");
}

}  // namespace
}  // namespace trasmuon
