// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trasmuon/device.h"
#include "trasmuon/diagnostics.h"
#include "trasmuon/export.h"
#include "trasmuon/options.h"
#include "trasmuon/tensor.h"

namespace trasmuon {

/// How a weight of three dimensions or more is read as matrices.
enum class Layout : std::uint8_t {
  automatic,  ///< 3-D: batch; 4-D and 5-D: flatten
  batch,      ///< [experts, out, in]: each expert a matrix of its own
  flatten,    ///< [out, in, k...]: one matrix [out, in * k...]
};

/// A weight to be trained. The memory is the caller's and must outlive the optimizer
/// (or be replaced through rebind_weight).
struct Parameter {
  std::string name;
  TensorView weight;
  Layout layout = Layout::automatic;
  bool transposed = false;                    ///< stored [in, out] instead of [out, in]
  std::vector<std::int64_t> row_blocks = {};  ///< sizes along `out`, each block a matrix of its own (heads, fused QKV)
  Device device = Device::cpu();              ///< of the weight's memory, and so of gradient and state
};

/// row_blocks for `count` blocks of equal size; throws Error unless count divides rows.
TRASMUON_API std::vector<std::int64_t> equal_blocks(std::int64_t rows, std::int64_t count);

/// Parameters trained by one rule with one set of options.
struct Group {
  Options options;
  std::vector<Parameter> parameters;
};

/// One tensor of a parameter's state: momentum, v_row, c_ema, ...
struct StateSpec {
  std::string name;
  DType dtype;
  Shape shape;
};

/// Lends memory for a state tensor of parameter `index`, aligned for its dtype. It must
/// outlive the optimizer, which sets the initial values.
using StateProvider = std::function<void*(std::size_t index, const StateSpec& spec)>;

struct OptimizerOptions {
  bool master_weights = false;  ///< keep f32 copies of bf16 and f16 weights in the state
  bool diagnostics = false;     ///< fill diagnostics() at each step
  StateProvider state = {};     ///< unset: the optimizer owns its state
};

/// Steps any number of parameters under one or more rules. Parameters are numbered
/// through the groups in the order given. Not thread-safe; distinct optimizers are
/// independent. Movable.
class TRASMUON_API Optimizer {
 public:
  /// Checks everything and builds all state; throws Error on the first mistake.
  explicit Optimizer(std::vector<Group> groups, OptimizerOptions options = {});
  Optimizer(Optimizer&&) noexcept;
  Optimizer& operator=(Optimizer&&) noexcept;
  ~Optimizer();

  /// One step. gradients[i] belongs to parameter i and has its shape; no_gradient()
  /// leaves parameter i and its state untouched. All gradients are checked before
  /// the first weight changes. What is on CUDA is stepped on `stream` (a cudaStream_t; null: the
  /// default stream), without waiting for it.
  void step(std::span<const TensorView> gradients, void* stream = nullptr);
  /// The same for parameters on several GPUs: streams[i] is that of cuda:i, and where there is
  /// none, its default stream.
  void step_on_streams(std::span<const TensorView> gradients, std::span<void* const> streams);
  /// Steps recorded in CUDA graphs of yours have the options of then. This gives them the options of now, for
  /// replays that come after it on the stream; what a step consists of must be as it was.
  void refresh_recorded(void* stream = nullptr);
  void refresh_recorded_on_streams(std::span<void* const> streams);  ///< as in step_on_streams

  std::size_t group_count() const;
  const Options& options(std::size_t group) const;
  /// Between steps. Validated; the rule and what shapes its state (momentum_dtype, Dion's rank) must stay.
  void set_options(std::size_t group, Options options);
  void set_options(std::vector<Options> options);  ///< of all groups, or of none when one is refused
  /// One numeric field: set(0, "lr", 1e-3). Schedules use "lr", "weight_decay", "gamma".
  void set(std::size_t group, std::string_view field, double value);
  void set_lr(double lr);  ///< in every group

  std::size_t parameter_count() const;
  const Parameter& parameter(std::size_t index) const;
  std::size_t index_of(std::string_view name) const;  ///< throws Error if unknown
  std::size_t group_of(std::size_t index) const;
  /// Points parameter `index` at other memory of the same dtype, shape and stride. A master
  /// weight stays as it is.
  void rebind_weight(std::size_t index, void* data);
  /// Takes the master of a 16-bit weight anew from it: after the weight was written from
  /// outside. Without a master it does nothing.
  void refresh_master(std::size_t index);

  /// The parameter's state, in place. Writing to it is allowed between steps.
  struct StateTensor {
    StateSpec spec;
    TensorView view;
  };
  std::span<const StateTensor> state(std::size_t index) const;
  TensorView state(std::size_t index, std::string_view name) const;  ///< throws Error if unknown
  /// Between a state tensor, wherever it is, and packed host memory of its size. Waits for the device.
  void read_state(std::size_t index, std::string_view name, void* host) const;
  void write_state(std::size_t index, std::string_view name, const void* host);

  /// One entry per matrix of the parameter (batch-major, then row blocks); empty
  /// unless OptimizerOptions::diagnostics. On CUDA this waits for the device and measures then.
  std::span<const Diagnostics> diagnostics(std::size_t index) const;
  std::vector<std::string> warnings() const;

  std::size_t state_bytes() const;
  std::size_t workspace_bytes()
      const;  ///< scratch held now; bounded by the largest matrix, at most four of them at once

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trasmuon
