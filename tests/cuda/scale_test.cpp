// SPDX-License-Identifier: Apache-2.0
#include "support/scale_property.h"

#include "cuda_memory.h"

namespace trasmuon::test {
namespace {

class CudaScale : public OnGpu {
 protected:
  template <class T>
  std::vector<double> trained(const Options& options, Shape shape, int exponent) {
    std::mt19937_64 rng(3);
    const auto count = static_cast<std::size_t>(shape.elements());
    T* weights = memory.copy(std::vector<T>(count));
    T* gradient = static_cast<T*>(memory.allocate(count * sizeof(T)));
    Optimizer optimizer({{options, {{.name = "w", .weight = view(weights, shape), .device = Device::cuda(0)}}}});
    for (int step = 0; step < 5; ++step) {
      const std::vector<T> values = bounded_gradient<T>(shape.elements(), exponent, rng);
      memory.write(gradient, values.data(), count * sizeof(T));
      const TensorView g = view(gradient, shape);
      optimizer.step({&g, 1});
    }
    const std::vector<T> result = memory.fetch<T>(weights, count);
    return {result.begin(), result.end()};
  }

  /// Trains with this precision of the iteration, where the rule has one.
  auto train_in(const char* precision) {
    return [this, precision](Options options, DType type, Shape shape, int exponent) {
      const bool iterates =
          !std::holds_alternative<DionOptions>(options) && !std::holds_alternative<AdamWOptions>(options);
      if (iterates) set_field(options, "ns_precision", precision);
      return type == DType::f64 ? trained<double>(options, shape, exponent) : trained<float>(options, shape, exponent);
    };
  }
};

TEST_F(CudaScale, StepsAreTheSameFromTinyToHugeGradients) { expect_steps_at_every_scale(train_in("f32"), 1e-2); }
// Five steps of entries around one, each rounded to 11 bits many times over.
TEST_F(CudaScale, AlsoIn16Bits) { expect_steps_at_every_scale(train_in("f16"), 0.1); }
TEST_F(CudaScale, BeyondTheLimitNothingMoves) { expect_no_step_beyond(train_in("automatic")); }

}  // namespace
}  // namespace trasmuon::test
