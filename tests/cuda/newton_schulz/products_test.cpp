// SPDX-License-Identifier: Apache-2.0
#include "cuda/newton_schulz/products.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <random>

#include "cuda/cuda_memory.h"
#include "cuda/newton_schulz/schedule.h"

namespace trasmuon::cuda {
namespace {

using Form = Product::Form;

/// A batch of matrices on host and device. Memory that is not written is NaN on the device.
struct Operand {
  HalfMatrices device;
  std::vector<double> host;  ///< as the device has it, rounded
  double at(int b, int i, int j) const {
    return host[(static_cast<std::size_t>(b) * static_cast<std::size_t>(device.rows) + static_cast<std::size_t>(i)) *
                    static_cast<std::size_t>(device.cols) +
                static_cast<std::size_t>(j)];
  }
};

template <class T>
class Bench {
 public:
  explicit Bench(test::CudaMemory& memory) : memory_(memory) {}

  HalfMatrices allocate(int rows, int cols, int batch, bool with_blocks = false) {
    HalfMatrices x{nullptr, rows, cols, (cols + 7) / 8 * 8, batch, 0};
    const std::int64_t plain = std::int64_t{rows} * x.row_stride,
                       blocks = std::int64_t{diagonal_block_count(rows)} * kDiagonalBlock * kDiagonalBlock;
    x.batch_stride = with_blocks ? plain + blocks : plain;
    x.data = memory_.allocate(static_cast<std::size_t>(x.batch_stride * batch) * sizeof(T));
    if (with_blocks) x.diagonal_blocks = static_cast<T*>(x.data) + plain;
    return x;
  }

  /// Gaussian; `symmetric`: and symmetric, whole.
  Operand random(int rows, int cols, int batch, bool symmetric) {
    Operand x{allocate(rows, cols, batch), {}};
    std::normal_distribution<float> normal;
    std::vector<T> values(static_cast<std::size_t>(x.device.batch_stride * batch));
    x.host.resize(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols) * static_cast<std::size_t>(batch));
    for (int b = 0; b < batch; ++b) {
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < cols; ++j) {
          const T value = symmetric && j < i ? values[index(x.device, b, j, i)] : T(normal(rng_));
          values[index(x.device, b, i, j)] = value;
          x.host[static_cast<std::size_t>((b * rows + i) * cols + j)] = static_cast<double>(static_cast<float>(value));
        }
      }
    }
    memory_.write(x.device.data, values.data(), values.size() * sizeof(T));
    return x;
  }

  void run(const Product& product) {
    const std::vector<ProductSequence> sequences = {{product.out.batch, {{product}}}};
    const Windows windows{{product.out.batch}, product.out.batch};
    ProductLaunch launch(sequences, windows, std::is_same_v<T, __nv_bfloat16>, 8);
    launch.enqueue(nullptr);
    test::check_cuda(cudaDeviceSynchronize());
  }

  std::vector<T> fetch(const HalfMatrices& x) {
    std::vector<T> values(static_cast<std::size_t>(x.batch_stride * x.batch));
    memory_.read(values.data(), x.data, values.size() * sizeof(T));
    return values;
  }

  static std::size_t index(const HalfMatrices& x, int b, int i, int j) {
    return static_cast<std::size_t>(b * x.batch_stride + std::int64_t{i} * x.row_stride + j);
  }

 private:
  test::CudaMemory& memory_;
  std::mt19937 rng_{1};
};

/// Sum over the depth in double, of numbers that are rounded already.
double reference(Form form, const Operand& a, const Operand& b, int batch, int i, int j) {
  double sum = 0;
  const int depth = form == Form::gram_columns ? a.device.rows : a.device.cols;
  for (int k = 0; k < depth; ++k) {
    if (form == Form::gram_rows) sum += a.at(batch, i, k) * a.at(batch, j, k);
    else if (form == Form::gram_columns) sum += a.at(batch, k, i) * a.at(batch, k, j);
    else sum += a.at(batch, i, k) * b.at(batch, k, j);
  }
  return sum;
}

class CudaProducts : public test::OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (IsSkipped()) return;
    cudaDeviceProp properties{};
    test::check_cuda(cudaGetDeviceProperties(&properties, 0));
    if (properties.major != 9) GTEST_SKIP() << "needs Hopper, this is compute capability " << properties.major;
  }

  /// `tolerance`: four times half a unit in the last place of T, 2^-11 or 2^-8; the sums themselves are in f32.
  template <class T>
  void compare(Form form, int n, int other, double tolerance) {
    Bench<T> bench(memory);
    constexpr int kBatch = 3;
    const bool gram = form == Form::gram_rows || form == Form::gram_columns;
    const bool a_square = form == Form::symmetric || form == Form::left;
    const Operand a = a_square                     ? bench.random(n, n, kBatch, true)
                      : form == Form::gram_columns ? bench.random(other, n, kBatch, false)
                      : form == Form::right        ? bench.random(other, n, kBatch, false)
                                                   : bench.random(n, other, kBatch, false);
    // A commutes with itself, so that A A is symmetric.
    const Operand b = gram || form == Form::symmetric ? a
                      : form == Form::left            ? bench.random(n, other, kBatch, false)
                                                      : bench.random(n, n, kBatch, true);
    const bool symmetric = gram || form == Form::symmetric;
    const int rows = form == Form::right ? other : n, cols = form == Form::left ? other : n;
    Product product{.form = form, .a = a.device, .b = b.device, .out = bench.allocate(rows, cols, kBatch, symmetric)};
    product.alpha = 0.25f;
    product.delta = symmetric ? 0.5f : 0.0f;
    product.write_shifted = symmetric;
    product.shift = 2;
    auto* squares = static_cast<float*>(
        memory.allocate(sizeof(float) * static_cast<std::size_t>(kBatch * row_square_tiles(cols) * rows)));
    if (!symmetric) product.row_squares = squares;
    bench.run(product);
    const std::vector<T> got = bench.fetch(product.out);
    const double scale =
        std::sqrt(static_cast<double>(form == Form::gram_rows || form == Form::gram_columns ? other : n));
    for (int batch = 0; batch < kBatch; ++batch) {
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < cols; ++j) {
          const auto value = static_cast<double>(static_cast<float>(got[Bench<T>::index(product.out, batch, i, j)]));
          if (symmetric && j / kTileCols > i / kTileCols) {
            ASSERT_TRUE(std::isnan(value)) << "written above the diagonal blocks: " << i << " " << j;
            continue;
          }
          const double expected = 0.25 * reference(form, a, b, batch, i, j) + (i == j ? product.delta : 0.0);
          ASSERT_NEAR(value, expected, tolerance * (scale + std::abs(expected))) << i << " " << j << " of " << n;
          if (!symmetric) continue;
          if (j / kTileCols == i / kTileCols) {
            const T mirrored = got[Bench<T>::index(product.out, batch, j, i)];
            ASSERT_EQ(value, static_cast<double>(static_cast<float>(mirrored))) << i << " " << j << " is not symmetric";
          }
          if (j / kDiagonalBlock != i / kDiagonalBlock) continue;
          const std::size_t block =
              static_cast<std::size_t>(batch * product.out.batch_stride + std::int64_t{rows} * product.out.row_stride +
                                       i * kDiagonalBlock + j % kDiagonalBlock);
          ASSERT_NEAR(static_cast<double>(static_cast<float>(got[block])), expected + (i == j ? 2 : 0),
                      tolerance * (scale + std::abs(expected) + 2));
        }
      }
      if (symmetric) continue;
      const std::vector<float> sums =
          memory.fetch<float>(squares, static_cast<std::size_t>(kBatch * row_square_tiles(cols) * rows));
      for (int i = 0; i < rows; ++i) {
        double sum = 0, expected = 0;
        for (int t = 0; t < row_square_tiles(cols); ++t)
          sum += static_cast<double>(sums[static_cast<std::size_t>((batch * row_square_tiles(cols) + t) * rows + i)]);
        for (int j = 0; j < cols; ++j) expected += std::pow(0.25 * reference(form, a, b, batch, i, j), 2);
        ASSERT_NEAR(sum, expected, 1e-3 * expected);
      }
    }
  }
};

TEST_F(CudaProducts, EveryFormOnOddShapes) {
  for (Form form : {Form::gram_rows, Form::gram_columns, Form::symmetric, Form::left, Form::right}) {
    for (int n : {8, 130, 257, 390}) {
      for (int other : {72, 333}) {
        SCOPED_TRACE(static_cast<int>(form));
        compare<__half>(form, n, other, 2e-3);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(CudaProducts, Bfloat16) {
  for (Form form : {Form::gram_rows, Form::gram_columns, Form::symmetric, Form::left, Form::right})
    compare<__nv_bfloat16>(form, 200, 300, 1.6e-2);
}

}  // namespace
}  // namespace trasmuon::cuda
