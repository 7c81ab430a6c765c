// SPDX-License-Identifier: Apache-2.0
#include "lab/models/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace trasmuon::lab {
namespace {

/// One output vector, in plain loops.
std::vector<double> attention_at(const at::Tensor& query, const at::Tensor& keys, const at::Tensor& values,
                                 std::int64_t visible) {
  const std::int64_t width = query.size(0);
  std::vector<double> result(static_cast<std::size_t>(width));
  double total = 0;
  for (std::int64_t s = 0; s < visible; ++s) {
    const double score = (query * keys[s]).sum().item<double>() / std::sqrt(static_cast<double>(width));
    total += std::exp(score);
    for (std::int64_t i = 0; i < width; ++i)
      result[static_cast<std::size_t>(i)] += std::exp(score) * values[s][i].item<double>();
  }
  for (double& x : result) x /= total;
  return result;
}

TEST(Attention, IsTheDefinition) {
  torch::manual_seed(1);
  for (const auto& [heads, key_heads, time, width] :
       {std::tuple{4, 4, 5, 3}, std::tuple{6, 2, 7, 4}, std::tuple{3, 1, 1, 1}}) {
    const at::Tensor q = at::randn({2, heads, time, width}, at::kDouble);
    const at::Tensor k = at::randn({2, key_heads, time, width}, at::kDouble), v = at::randn_like(k);
    for (const bool causal : {true, false}) {
      const at::Tensor fused = attention(q, k, v, causal), plain = explicit_attention(q, k, v, causal);
      EXPECT_TRUE(at::allclose(fused, plain, 1e-10, 1e-12));
      for (int h = 0; h < heads; ++h) {
        for (int t = 0; t < time; ++t) {
          const int group = h / (heads / key_heads);
          const auto expected = attention_at(q[1][h][t], k[1][group], v[1][group], causal ? t + 1 : time);
          for (int i = 0; i < width; ++i)
            EXPECT_NEAR(plain[1][h][t][i].item<double>(), expected[static_cast<std::size_t>(i)], 1e-12);
        }
      }
    }
  }
}

TEST(Attention, SplittingAndMergingHeadsAreInverse) {
  const at::Tensor x = at::randn({2, 3, 12});
  const at::Tensor split = split_heads(x, 4);
  EXPECT_EQ(split.sizes(), at::IntArrayRef({2, 4, 3, 3}));
  EXPECT_TRUE(at::equal(split[1][2][0], x[1][0].narrow(0, 6, 3)));
  EXPECT_TRUE(at::equal(merge_heads(split), x));
}

}  // namespace
}  // namespace trasmuon::lab
