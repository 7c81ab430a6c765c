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

/// Says that a weight is a range of the first dimension of a larger one, whose other parts are on other ranks.
struct RowShard {
  std::int64_t first_row = 0;   ///< of this part
  std::int64_t total_rows = 0;  ///< of the whole weight
};

/// A weight to be trained. The memory belongs to the caller and must outlive the optimizer, or be replaced through
/// rebind_weight.
struct Parameter {
  std::string name;
  TensorView weight;
  Layout layout = Layout::automatic;
  bool transposed = false;                    ///< stored [in, out] instead of [out, in]
  std::vector<std::int64_t> row_blocks = {};  ///< sizes along `out`, each block a matrix of its own (heads, fused QKV)
  Device device = Device::cpu();              ///< where weight, gradient and state are
  /// Set if this rank holds only some rows, perhaps none: weight.shape[0] counts those that are here. Layout and
  /// row_blocks describe the whole weight. See sharded_step.h.
  std::optional<RowShard> shard = {};
};

/// Returns row_blocks for `count` blocks of equal size; throws Error unless count divides rows.
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

class ParameterTable;

/// Steps any number of parameters under one or more rules. Parameters are numbered through the groups in the order
/// given. Not thread-safe; distinct optimizers are independent. Movable.
class TRASMUON_API Optimizer {
 public:
  /// Checks everything and builds all state; throws Error on the first mistake.
  explicit Optimizer(std::vector<Group> groups, OptimizerOptions options = {});
  Optimizer(Optimizer&&) noexcept;
  Optimizer& operator=(Optimizer&&) noexcept;
  ~Optimizer();

  /// Takes one step. gradients[i] belongs to parameter i and has its shape; no_gradient() leaves parameter i and its
  /// state untouched. All gradients are checked and all scratch memory is taken before the first weight changes: a step
  /// that throws Error or std::bad_alloc has changed nothing and can be repeated. (With parameters on CUDA only the
  /// device's memory is taken first; if the host's runs out, or the driver fails, some groups may have been stepped.)
  /// Parameters on CUDA are stepped on `stream` (a cudaStream_t; null: the default stream), without waiting for it.
  /// Throws Error if a matrix has rows on other ranks: those are stepped by a ShardedStep (sharded_step.h).
  void step(std::span<const TensorView> gradients, void* stream = nullptr);
  /// Takes one step of parameters on several GPUs: streams[i] is the stream of cuda:i; missing ones are the default
  /// streams.
  void step_on_streams(std::span<const TensorView> gradients, std::span<void* const> streams);
  /// Updates the learning rate and other scalars inside CUDA graphs in which the caller captured steps of this
  /// optimizer. Replays that follow on the stream use the current options. The stages of a step must be the same as
  /// when it was captured.
  void refresh_recorded(void* stream = nullptr);
  void refresh_recorded_on_streams(std::span<void* const> streams);  ///< streams as in step_on_streams

  std::size_t group_count() const;
  const Options& options(std::size_t group) const;
  /// Replaces a group's options between steps. They are validated; the rule and the options that shape its state
  /// (momentum_dtype, Dion's rank_fraction) cannot change.
  void set_options(std::size_t group, Options options);
  void set_options(std::vector<Options> options);  ///< of all groups; if one is refused, none changes
  /// Sets one numeric field: set(0, "lr", 1e-3). Schedules use "lr", "weight_decay", "gamma".
  void set(std::size_t group, std::string_view field, double value);
  void set_lr(double lr);  ///< in every group

  std::size_t parameter_count() const;
  const Parameter& parameter(std::size_t index) const;
  std::size_t index_of(std::string_view name) const;  ///< throws Error if unknown
  std::size_t group_of(std::size_t index) const;
  /// Points parameter `index` at other memory of the same dtype, shape and stride. A master weight keeps its values.
  void rebind_weight(std::size_t index, void* data);
  /// Copies a 16-bit weight into its f32 master. Call it after writing the weight yourself. Does nothing without a
  /// master.
  void refresh_master(std::size_t index);

  /// Returns the parameter's state tensors themselves, not copies. They may be written between steps.
  struct StateTensor {
    StateSpec spec;
    TensorView view;
  };
  std::span<const StateTensor> state(std::size_t index) const;
  TensorView state(std::size_t index, std::string_view name) const;  ///< throws Error if unknown
  /// Copies between a state tensor, on any device, and packed host memory of its size. Waits for the device.
  void read_state(std::size_t index, std::string_view name, void* host) const;
  void write_state(std::size_t index, std::string_view name, const void* host);

  /// Returns one entry per matrix of the parameter (batch entries first, then row blocks); empty unless
  /// OptimizerOptions::diagnostics is set. On CUDA this call waits for the device and measures the last step.
  std::span<const Diagnostics> diagnostics(std::size_t index) const;
  std::vector<std::string> warnings() const;

  std::size_t state_bytes() const;
  /// Scratch memory held now. On the CPU it is bounded by the largest matrix: at most four are stepped at once.
  std::size_t workspace_bytes() const;

 private:
  friend class ShardedStep;
  std::unique_ptr<ParameterTable> table_;
};

}  // namespace trasmuon
