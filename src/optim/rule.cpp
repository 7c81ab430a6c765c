// SPDX-License-Identifier: Apache-2.0
#include "optim/rule.h"

#include <algorithm>
#include <string>

#include "trasmuon/error.h"

namespace trasmuon {

bool State::has(std::string_view name) const {
  return std::any_of(tensors_.begin(), tensors_.end(), [&](const auto& t) { return t.spec.name == name; });
}

const TensorView& State::operator[](std::string_view name) const {
  for (const auto& tensor : tensors_) {
    if (tensor.spec.name == name) return tensor.view;
  }
  throw Error("no state tensor '" + std::string(name) + "'");
}

namespace {

/// Returns the number of rows of W in memory before this block.
std::int64_t rows_before(const ParameterLayout& layout, std::int64_t entry, std::size_t block) {
  return entry * layout.rows.count + layout.block_rows(block).first;
}

void* at(const TensorView& tensor, std::int64_t element) {
  return static_cast<char*>(tensor.data) + element * static_cast<std::int64_t>(size_of(tensor.dtype));
}

template <class T>
T* at(const TensorView& tensor, std::int64_t element) {
  return static_cast<T*>(at(tensor, element));
}

/// Returns the dtype in which the momentum is stored.
DType momentum_type(const Options& options, DType compute) {
  return std::visit(
      [&]<class O>(const O& o) {
        if constexpr (requires { o.momentum_dtype; }) {
          if (o.momentum_dtype == MomentumDType::automatic) return compute;
          if (compute != DType::f64) return DType::bf16;
          throw Error(std::string(rule_name(options)) + ": momentum_dtype must be automatic with f64 weights, got " +
                      get_field(options, "momentum_dtype"));
        }
        return compute;
      },
      options);
}

/// Dion's bases Q of all matrices lie one after the other. Returns the number of elements before this one.
std::int64_t basis_before(const DionOptions& options, const ParameterLayout& layout, std::int64_t entry,
                          std::size_t block) {
  std::int64_t per_entry = 0, before = 0;
  for (std::size_t b = 0; b < layout.blocks.size(); ++b) {
    const std::int64_t size = layout.n * dion_rank(options, layout.blocks[b], layout.n);
    per_entry += size;
    if (b < block) before += size;
  }
  return entry * per_entry + before;
}

}  // namespace

std::vector<StateSpec> state_specs(const Options& options, const ParameterLayout& layout, const Shape& shape) {
  const DType real = layout.compute;
  const std::int64_t matrices = layout.matrices();
  std::vector<StateSpec> specs;
  if (const auto* dion = std::get_if<DionOptions>(&options)) {
    specs = {{"momentum", real, shape}, {"basis", real, {basis_before(*dion, layout, layout.batch, 0)}}};
  } else if (std::holds_alternative<AdamWOptions>(options)) {
    specs = {{"exp_avg", real, shape}, {"exp_avg_sq", real, shape}};
  } else {
    specs = {{"momentum", momentum_type(options, real), shape}};
    if (!std::holds_alternative<MuonOptions>(options))
      specs.push_back({"v_row", real, {layout.batch * layout.rows.count}});
    if (const auto* trasmuon = std::get_if<TrasMuonOptions>(&options)) {
      const bool history = trasmuon->reference == Reference::history;
      specs.push_back({"e_ref", DType::f64, history ? Shape{matrices, layout.n} : Shape{matrices}});
      specs.push_back({"gamma_sum", DType::f64, {matrices}});
      if (trasmuon->gamma == Gamma::Kind::eta_hat) specs.push_back({"eta_avg", DType::f64, {matrices}});
      specs.push_back({"c_sum", DType::f64, {matrices, layout.n}});
      specs.push_back({"c_ema", real, {matrices, layout.n}});
      specs.push_back({"c_last", real, {matrices, layout.n}});
    }
  }
  specs.push_back({"step", DType::i64, {matrices}});
  specs.push_back({"skipped", DType::i64, {matrices}});
  return specs;
}

std::vector<std::byte> initial_state(const Options& options, std::size_t index, const StateSpec& spec,
                                     const ParameterLayout& layout, std::int64_t entries_before) {
  const auto count = static_cast<std::size_t>(spec.shape.elements());
  std::vector<std::byte> bytes(count * size_of(spec.dtype));
  if (spec.name == "basis") {
    const auto& dion = std::get<DionOptions>(options);
    initialise_dion_basis(dion, index, basis_before(dion, layout, entries_before, 0),
                          {bytes.data(), spec.dtype, spec.shape, 0});
  } else if (spec.name == "c_ema" || spec.name == "c_last") {
    if (spec.dtype == DType::f64) std::fill_n(reinterpret_cast<double*>(bytes.data()), count, 1.0);
    else std::fill_n(reinterpret_cast<float*>(bytes.data()), count, 1.0f);
  }
  return bytes;
}

const char* changed_state_field(const Options& before, const Options& after) {
  return std::visit(
      [&]<class O>(const O& o) -> const char* {
        const O& now = std::get<O>(after);
        if constexpr (requires { o.rank_fraction; }) {
          if (o.rank_fraction != now.rank_fraction) return "rank_fraction";
        }
        if constexpr (requires { o.momentum_dtype; }) {
          if (o.momentum_dtype != now.momentum_dtype) return "momentum_dtype";
        }
        if constexpr (requires { o.reference; }) {
          if (o.reference != now.reference) return "reference";
          if ((o.gamma == Gamma::Kind::eta_hat) != (now.gamma == Gamma::Kind::eta_hat)) return "gamma";
        }
        return nullptr;
      },
      before);
}

void bind_state(const Options& options, const ParameterLayout& layout, const State& state, std::int64_t entry,
                std::size_t block, Matrix& x) {
  const std::int64_t index = entry * static_cast<std::int64_t>(layout.blocks.size()) + static_cast<std::int64_t>(block);
  x.step = at<std::int64_t>(state["step"], index);
  x.skipped = at<std::int64_t>(state["skipped"], index);
  if (std::holds_alternative<AdamWOptions>(options)) {
    x.momentum = slice(layout, state["exp_avg"], entry, block);
    x.second_moment = slice(layout, state["exp_avg_sq"], entry, block);
    return;
  }
  x.momentum = slice(layout, state["momentum"], entry, block);
  if (const auto* dion = std::get_if<DionOptions>(&options)) {
    const std::int64_t rank = dion_rank(*dion, x.whole_m, x.n);
    x.basis = {at(state["basis"], basis_before(*dion, layout, entry, block)), layout.compute, x.n, rank, rank};
  }
  if (state.has("v_row")) x.v_row = at(state["v_row"], rows_before(layout, entry, block));
  if (state.has("c_ema")) {
    x.c_ema = at(state["c_ema"], index * layout.n);
    x.c_last = at(state["c_last"], index * layout.n);
    x.c_sum = at<double>(state["c_sum"], index * layout.n);
    const TensorView& e_ref = state["e_ref"];
    x.e_ref = at<double>(e_ref, e_ref.shape.rank() == 2 ? index * layout.n : index);
    x.gamma_sum = at<double>(state["gamma_sum"], index);
    if (state.has("eta_avg")) x.eta_average = at<double>(state["eta_avg"], index);
  }
}

Plan plan_of(const Options& options) {
  return std::visit(
      [](const auto& o) -> Plan {
        if constexpr (requires { pipeline_of(o); }) return pipeline_of(o);
        else return o;
      },
      options);
}

}  // namespace trasmuon
