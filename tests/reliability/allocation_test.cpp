// SPDX-License-Identifier: Apache-2.0
// Every allocation of every call of the C ABI fails in turn. The call then says so, has changed nothing, has leaked
// nothing, and succeeds when it is repeated, with the result of a call that never failed.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "failing_allocations.h"
#include "support/model.h"
#include "support/temporary_directory.h"
#include "trasmuon/c_api.h"

namespace trasmuon::test {
namespace {

constexpr std::int64_t kRows = 16, kCols = 20;  // large enough for an iteration in bf16

trasmuon_tensor tensor_of(void* data, int dtype, std::initializer_list<std::int64_t> shape) {
  trasmuon_tensor tensor{data, dtype, static_cast<int>(shape.size()), {}, 0};
  std::copy(shape.begin(), shape.end(), tensor.shape);
  return tensor;
}

/// Handles and memory that a call works on, and variables for what it returns. Two groups: the rule, over matrices of
/// several types, and AdamW.
struct World {
  std::vector<double> wide;
  std::vector<float> matrix, experts, bias, in, out;
  std::vector<bf16> half;
  std::vector<double> wide_gradient;
  std::vector<float> matrix_gradient, experts_gradient, bias_gradient;
  std::vector<bf16> half_gradient;
  std::vector<trasmuon_tensor> gradients;
  trasmuon_options *options = nullptr, *adamw = nullptr;
  trasmuon_builder* builder = nullptr;
  trasmuon_optimizer* optimizer = nullptr;

  // Outputs, at values that no call returns.
  trasmuon_options* new_options = nullptr;
  trasmuon_builder* new_builder = nullptr;
  trasmuon_optimizer* new_optimizer = nullptr;
  const char* text = nullptr;
  std::size_t number = 12345;
  double value = -12345;
  int families[2] = {-1, -1};

  World(const char* rule, int steps_before) {
    std::mt19937_64 rng(1);
    matrix = random_values<float>(kRows * kCols, rng);
    experts = random_values<float>(3 * 6 * 5, rng);
    wide = random_values<double>(9 * 7, rng);
    half = random_values<bf16>(8 * 10, rng);
    bias = random_values<float>(33, rng);
    matrix_gradient = random_values<float>(kRows * kCols, rng);
    experts_gradient = random_values<float>(3 * 6 * 5, rng);
    wide_gradient = random_values<double>(9 * 7, rng);
    half_gradient = random_values<bf16>(8 * 10, rng);
    bias_gradient = random_values<float>(33, rng);
    in = random_values<float>(2 * 6 * 5, rng);
    out.assign(in.size(), -7);
    gradients = {tensor_of(matrix_gradient.data(), TRASMUON_F32, {kRows, kCols}),
                 tensor_of(experts_gradient.data(), TRASMUON_F32, {3, 6, 5}),
                 tensor_of(wide_gradient.data(), TRASMUON_F64, {9, 7}),
                 tensor_of(half_gradient.data(), TRASMUON_BF16, {8, 10}),
                 tensor_of(bias_gradient.data(), TRASMUON_F32, {33})};
    ok(trasmuon_options_create(rule, &options));
    if (rule == std::string("muon")) ok(trasmuon_options_set(options, "ns_precision", "bf16"));
    ok(trasmuon_options_create("adamw", &adamw));
    ok(trasmuon_builder_create(&builder));
    ok(trasmuon_builder_set_diagnostics(builder, 1));
    ok(trasmuon_builder_set_master_weights(builder, 1));
    ok(trasmuon_builder_add_group(builder, options, nullptr));
    add("matrix of a model with a long name", tensor_of(matrix.data(), TRASMUON_F32, {kRows, kCols}));
    add("experts", tensor_of(experts.data(), TRASMUON_F32, {3, 6, 5}));
    add("wide", tensor_of(wide.data(), TRASMUON_F64, {9, 7}));
    add("half", tensor_of(half.data(), TRASMUON_BF16, {8, 10}));
    ok(trasmuon_builder_add_group(builder, adamw, nullptr));
    add("bias", tensor_of(bias.data(), TRASMUON_F32, {33}));
    ok(trasmuon_builder_finish(builder, &optimizer));
    for (int step = 0; step < steps_before; ++step) {
      ok(trasmuon_optimizer_step(optimizer, gradients.data(), gradients.size()));
    }
  }
  World(const World&) = delete;
  ~World() {
    for (trasmuon_options* o : {options, adamw, new_options}) trasmuon_options_destroy(o);
    for (trasmuon_builder* b : {builder, new_builder}) trasmuon_builder_destroy(b);
    for (trasmuon_optimizer* o : {optimizer, new_optimizer}) trasmuon_optimizer_destroy(o);
  }

  static void ok(int status) { ASSERT_EQ(status, TRASMUON_OK) << trasmuon_last_error(); }

  void add(const char* name, const trasmuon_tensor& weight) {
    trasmuon_parameter parameter{};
    parameter.struct_size = sizeof parameter;
    parameter.name = name;
    parameter.weight = weight;
    ok(trasmuon_builder_add_parameter(builder, &parameter, nullptr));
  }

  /// Everything that a call may change: weights, state, options, diagnostics and outputs.
  std::string contents() const {
    std::string all;
    const auto append = [&](const void* data, std::size_t bytes) { all.append(static_cast<const char*>(data), bytes); };
    const auto values = [&](const auto& list) { append(list.data(), list.size() * sizeof list[0]); };
    values(matrix), values(experts), values(wide), values(half), values(bias), values(out);
    const auto fields_of = [&](const trasmuon_options* o) {
      if (o == nullptr) return;
      const char* description = nullptr;
      ok(trasmuon_options_describe(o, &description));
      all += description;
    };
    for (const trasmuon_optimizer* o : {optimizer, new_optimizer}) {
      all += o == nullptr ? '0' : '1';
      if (o == nullptr) continue;
      for (std::size_t group = 0; group < 2; ++group) {
        trasmuon_options* copy = nullptr;
        ok(trasmuon_optimizer_get_options(o, group, &copy));
        fields_of(copy);
        trasmuon_options_destroy(copy);
      }
      std::size_t parameters = 0;
      ok(trasmuon_optimizer_parameter_count(o, &parameters));
      for (std::size_t i = 0; i < parameters; ++i) {
        std::size_t count = 0;
        trasmuon_tensor weight{};
        ok(trasmuon_optimizer_parameter(o, i, nullptr, nullptr, &weight));
        all += weight.data == half_gradient.data() ? 'm' : '-';  // whether rebind_weight has moved it
        ok(trasmuon_optimizer_state_count(o, i, &count));
        for (std::size_t which = 0; which < count; ++which) {
          trasmuon_tensor t{};
          ok(trasmuon_optimizer_state(o, i, which, nullptr, &t));
          const Shape shape(std::span(t.shape, static_cast<std::size_t>(t.rank)));
          append(t.data, static_cast<std::size_t>(shape.elements()) * size_of(static_cast<DType>(t.dtype)));
        }
        ok(trasmuon_optimizer_diagnostics_count(o, i, &count));
        for (std::size_t k = 0; k < count; ++k) {
          trasmuon_diagnostics d{};
          ok(trasmuon_optimizer_diagnostics(o, i, k, &d, sizeof d));
          append(&d, sizeof d);
        }
      }
    }
    for (const trasmuon_options* o : {options, adamw, new_options}) fields_of(o);
    append(&number, sizeof number);
    append(&value, sizeof value);
    append(families, sizeof families);
    all += new_builder == nullptr ? '0' : '1';
    return all;
  }
};

struct Call {
  const char* name;
  std::function<int(World&)> run;
  int steps_before = 0;
  std::function<void(World&)> prepare = [](World&) {};
};

std::vector<Call> calls(const std::string& folder) {
  static std::string saved, target;
  saved = folder + "/saved.safetensors";
  target = folder + "/target.safetensors";
  return {
      {"options_create", [](World& w) { return trasmuon_options_create("trasmuon", &w.new_options); }},
      {"options_create_preset",
       [](World& w) { return trasmuon_options_create_preset("trasmuon", "released", &w.new_options); }},
      {"options_set", [](World& w) { return trasmuon_options_set(w.options, "weight_decay", "0.123456789123456789"); }},
      {"options_set_number", [](World& w) { return trasmuon_options_set_number(w.options, "lr", 0.123456789012345); }},
      {"options_get", [](World& w) { return trasmuon_options_get(w.options, "lr", &w.text); }},
      {"options_get_number", [](World& w) { return trasmuon_options_get_number(w.options, "lr", &w.value); }},
      {"options_field_count", [](World& w) { return trasmuon_options_field_count(w.options, &w.number); }},
      {"options_field", [](World& w) { return trasmuon_options_field(w.options, 1, &w.text); }},
      {"options_describe", [](World& w) { return trasmuon_options_describe(w.options, &w.text); }},
      {"builder_create", [](World& w) { return trasmuon_builder_create(&w.new_builder); }},
      {"builder_add_group", [](World& w) { return trasmuon_builder_add_group(w.builder, w.options, &w.number); }},
      {"builder_add_parameter",
       [](World& w) {
         const std::int64_t blocks[] = {5, 7};
         trasmuon_parameter parameter{};
         parameter.struct_size = sizeof parameter;
         parameter.name = "another matrix, with a long name";
         parameter.weight = tensor_of(w.matrix_gradient.data(), TRASMUON_F32, {kRows, kCols});
         parameter.row_blocks = blocks;
         parameter.row_block_count = 2;
         return trasmuon_builder_add_parameter(w.builder, &parameter, &w.number);
       }},
      {"builder_set_state",
       [](World& w) {
         return trasmuon_builder_set_state(
             w.builder, [](void*, std::size_t, const char*, const trasmuon_tensor*) -> void* { return nullptr; },
             nullptr);
       }},
      {"builder_finish", [](World& w) { return trasmuon_builder_finish(w.builder, &w.new_optimizer); }},
      {"step", [](World& w) { return trasmuon_optimizer_step(w.optimizer, w.gradients.data(), w.gradients.size()); }},
      {"second step",
       [](World& w) { return trasmuon_optimizer_step(w.optimizer, w.gradients.data(), w.gradients.size()); }, 1},
      {"step_on_streams",
       [](World& w) {
         return trasmuon_optimizer_step_on_streams(w.optimizer, w.gradients.data(), w.gradients.size(), nullptr, 0);
       }},
      {"refresh_recorded", [](World& w) { return trasmuon_optimizer_refresh_recorded(w.optimizer, nullptr); }, 1},
      {"get_options", [](World& w) { return trasmuon_optimizer_get_options(w.optimizer, 0, &w.new_options); }},
      {"set_options", [](World& w) { return trasmuon_optimizer_set_options(w.optimizer, 0, w.options); }, 0,
       [](World& w) { World::ok(trasmuon_options_set_number(w.options, "lr", 0.5)); }},
      {"set", [](World& w) { return trasmuon_optimizer_set(w.optimizer, 1, "beta1", "0.123456789123456789"); }},
      {"set_number", [](World& w) { return trasmuon_optimizer_set_number(w.optimizer, 0, "lr", 0.0123456789012345); }},
      {"index_of", [](World& w) { return trasmuon_optimizer_index_of(w.optimizer, "bias", &w.number); }},
      {"rebind_weight",
       [](World& w) { return trasmuon_optimizer_rebind_weight(w.optimizer, 3, w.half_gradient.data()); }, 1},
      {"refresh_master", [](World& w) { return trasmuon_optimizer_refresh_master(w.optimizer, 3); }, 1,
       [](World& w) { w.half[5] = to_bf16(3.0f); }},
      {"diagnostics_count", [](World& w) { return trasmuon_optimizer_diagnostics_count(w.optimizer, 1, &w.number); },
       1},
      {"warnings", [](World& w) { return trasmuon_optimizer_warnings(w.optimizer, &w.text); }},
      {"state_bytes", [](World& w) { return trasmuon_optimizer_state_bytes(w.optimizer, &w.number); }},
      {"save", [](World& w) { return trasmuon_optimizer_save(w.optimizer, target.c_str()); }, 1},
      {"load", [](World& w) { return trasmuon_optimizer_load(w.optimizer, saved.c_str()); }},
      {"orthogonalize",
       [](World& w) {
         const trasmuon_tensor from = tensor_of(w.in.data(), TRASMUON_F32, {2, 6, 5});
         const trasmuon_tensor to = tensor_of(w.out.data(), TRASMUON_F32, {2, 6, 5});
         return trasmuon_orthogonalize(&from, &to, 5, "keller", TRASMUON_FORM_AUTOMATIC, 1e-7);
       }},
      {"classify",
       [](World& w) {
         const trasmuon_named_shape shapes[] = {{"layers.0.attention.query.weight", 2, {8, 8}}, {"head.bias", 1, {8}}};
         const trasmuon_family_override change{"*.bias", TRASMUON_FAMILY_ADAMW};
         return trasmuon_classify(shapes, 2, &change, 1, w.families, &w.text);
       }},
      {"why_unusable", [](World& w) { return trasmuon_why_unusable(TRASMUON_CPU, &w.text); }},
      {"set_num_threads", [](World&) { return trasmuon_set_num_threads(num_threads()); }},
  };
}

/// Repeats the call with its k-th allocation failing, k = 1, 2, ..., until it makes fewer than k. Returns how many.
long fail_each_allocation(const Call& call, const char* rule, bool and_later) {
  std::string expected;
  {
    World world(rule, call.steps_before);
    call.prepare(world);
    EXPECT_EQ(call.run(world), TRASMUON_OK) << trasmuon_last_error();
    expected = world.contents();
  }
  for (long k = 1; k < 100000; ++k) {
    const long live = live_allocations();
    bool happened = false;
    {
      World world(rule, call.steps_before);
      call.prepare(world);
      const std::string before = world.contents();
      const char* const text = world.text;
      int status = TRASMUON_OK;
      {
        const FailAllocation failure(k, and_later);
        status = call.run(world);
        happened = failure.happened();
      }
      if (status == TRASMUON_OK) {
        EXPECT_TRUE(world.contents() == expected) << "the result differs";
      } else {
        EXPECT_EQ(status, TRASMUON_ERROR_OUT_OF_MEMORY) << trasmuon_last_error();
        EXPECT_STREQ(trasmuon_last_error(), "out of memory");
        EXPECT_EQ(world.text, text) << "an output was written";
        EXPECT_TRUE(world.contents() == before) << "something changed";
        EXPECT_EQ(call.run(world), TRASMUON_OK) << trasmuon_last_error();
        EXPECT_TRUE(world.contents() == expected) << "the repeated call differs";
      }
    }
    EXPECT_EQ(live_allocations(), live) << "a leak";
    if (testing::Test::HasFailure()) ADD_FAILURE() << call.name << " of " << rule << ", allocation " << k;
    if (testing::Test::HasFailure() || !happened) return k - 1;
  }
  return 0;
}

class Allocation : public testing::TestWithParam<const char*> {};

TEST_P(Allocation, AnyThatFailsLeavesEverythingAsBefore) {
  const TemporaryDirectory folder;
  const std::string path = folder.path();
  const int threads_before = num_threads();
  for (int threads : {1, 2}) {
    set_num_threads(threads);
    long steps = 0;
    {
      World other(GetParam(), 3);  // what is loaded, and what starts the threads
      ASSERT_EQ(trasmuon_optimizer_save(other.optimizer, (path + "/saved.safetensors").c_str()), TRASMUON_OK);
    }
    for (const Call& call : calls(path)) {
      for (const bool and_later : {false, true}) {
        const long count = fail_each_allocation(call, GetParam(), and_later);
        if (call.name == std::string("step")) steps = count;
      }
      if (HasFailure()) return;
    }
    EXPECT_GT(steps, 3) << "the step allocates nothing: this test has no effect";
  }
  set_num_threads(threads_before);
}

INSTANTIATE_TEST_SUITE_P(Rules, Allocation, testing::Values("trasmuon", "normuon", "muon", "dion", "adamw"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace trasmuon::test
