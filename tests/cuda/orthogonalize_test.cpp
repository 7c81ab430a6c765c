// SPDX-License-Identifier: Apache-2.0
#include "trasmuon/orthogonalize.h"

#include <algorithm>
#include <cmath>

#include "cuda_memory.h"
#include "support/model.h"
#include "trasmuon/trasmuon.h"

namespace trasmuon::test {
namespace {

using CudaOrthogonalize = OnGpu;

const Shape kShapes[] = {{1, 1}, {5, 7}, {33, 65}, {127, 257}, {300, 131}, {64, 64}, {3, 48, 40}};

/// Relative distance (Frobenius) of the GPU's result from the CPU's.
template <class In, class Out>
double distance(Memory& memory, const Shape& shape, NewtonSchulzOptions options) {
  std::mt19937_64 rng(11);
  const auto in = random_values<In>(shape.elements(), rng, 1e-3);
  std::vector<Out> expected(in.size());
  NewtonSchulzOptions on_cpu = options;
  on_cpu.precision = NewtonSchulzPrecision::automatic;
  orthogonalize(view(in.data(), shape), view(expected.data(), shape), on_cpu);
  Out* out = static_cast<Out*>(memory.allocate(in.size() * sizeof(Out)));
  options.device = Device::cuda(0);
  orthogonalize(view(memory.copy(in), shape), view(out, shape), options);
  const std::vector<Out> ours = memory.fetch<Out>(out, in.size());
  double apart = 0, all = 0;
  for (std::size_t k = 0; k < in.size(); ++k) {
    apart += std::pow(to_double(ours[k]) - to_double(expected[k]), 2);
    all += std::pow(to_double(expected[k]), 2);
  }
  return std::isnan(apart) ? INFINITY : std::sqrt(apart / all);
}

TEST_F(CudaOrthogonalize, FollowsTheCpu) {
  const auto f32 = NewtonSchulzPrecision::f32, tf32 = NewtonSchulzPrecision::tf32;
  for (const Shape& shape : kShapes) {
    for (int steps : {0, 1, 5}) {
      const std::string where = to_string(shape) + " " + std::to_string(steps);
      EXPECT_LE((distance<double, double>(memory, shape, {.steps = steps})), 1e-12) << where;
      EXPECT_LE((distance<float, float>(memory, shape, {.steps = steps, .precision = f32})), 2e-4) << where;
      EXPECT_LE((distance<float, float>(memory, shape, {.steps = steps, .precision = tf32})), 3e-2) << where;
      EXPECT_LE((distance<bf16, float>(memory, shape, {.steps = steps, .precision = f32})), 2e-4) << where;
      // The final rounding to bf16 may go the other way.
      EXPECT_LE((distance<float, bf16>(memory, shape, {.steps = steps, .precision = f32})), 0x1p-9) << where;
    }
  }
}

TEST_F(CudaOrthogonalize, FollowsTheCpuIn16Bits) {
  for (const Shape& shape : kShapes) {
    for (int steps : {0, 1, 5}) {
      EXPECT_LE((distance<float, float>(memory, shape, {.steps = steps})), 3e-2) << to_string(shape) << " " << steps;
    }
  }
}

TEST_F(CudaOrthogonalize, InPlaceWithRowStridesOnAStream) {
  std::mt19937_64 rng(12);
  const auto packed = random_values<float>(20 * 30, rng);
  std::vector<float> padded(20 * 40, 7.0f), expected(packed.size());
  for (std::size_t i = 0; i < 20; ++i) std::copy_n(packed.begin() + i * 30, 30, padded.begin() + i * 40);
  orthogonalize(view(packed.data(), {20, 30}), view(expected.data(), {20, 30}));
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  float* device = memory.copy(padded);
  const TensorView x = view(device, {20, 30}, 40);
  orthogonalize(x, x, {.precision = NewtonSchulzPrecision::f32, .device = Device::cuda(0), .stream = stream});
  const auto result = memory.fetch<float>(device, padded.size());
  for (std::size_t i = 0; i < 20; ++i) {
    for (std::size_t j = 0; j < 30; ++j) EXPECT_NEAR(result[i * 40 + j], expected[i * 30 + j], 1e-4f);
    for (std::size_t j = 30; j < 40; ++j) EXPECT_EQ(result[i * 40 + j], 7.0f);
  }
  check_cuda(cudaStreamDestroy(stream));
}

TEST_F(CudaOrthogonalize, CannotBeCaptured) {
  const TensorView x = view(memory.copy(std::vector<float>(16, 1.0f)), {4, 4});
  orthogonalize(x, x, {.device = Device::cuda(0)});
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  EXPECT_EQ(error_of([&] { orthogonalize(x, x, {.device = Device::cuda(0), .stream = stream}); }),
            "orthogonalize: cannot be captured in a graph");
  check_cuda(cudaStreamEndCapture(stream, &graph));
  check_cuda(cudaGraphDestroy(graph));
  check_cuda(cudaStreamDestroy(stream));
}

TEST_F(CudaOrthogonalize, AnyFiniteDoubleWorks) {
  std::mt19937_64 rng(12);
  const Shape shape{70, 9};
  const auto values = random_values<double>(shape.elements(), rng);
  const auto result = [&](int exponent) {
    std::vector<double> in(values);
    for (double& x : in) x = std::ldexp(x, exponent);
    double* x = memory.copy(in);
    orthogonalize(view(x, shape), view(x, shape), {.eps = 0, .device = Device::cuda(0)});
    return memory.fetch<double>(x, in.size());
  };
  const auto expected = result(0);
  EXPECT_GT(std::abs(expected[0]), 1e-4);
  for (int exponent : {-1000, -540, 510, 1000}) EXPECT_EQ(result(exponent), expected) << "2^" << exponent;
}

TEST_F(CudaOrthogonalize, ZeroStaysZero) {
  float* device = memory.copy(std::vector<float>(16 * 24, 0.0f));
  const TensorView x = view(device, {16, 24});
  orthogonalize(x, x, {.device = Device::cuda(0)});
  EXPECT_EQ(memory.fetch<float>(device, 16 * 24), std::vector<float>(16 * 24, 0.0f));
}

}  // namespace
}  // namespace trasmuon::test
