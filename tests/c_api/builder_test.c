/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "tensors.h"

static float memory[24];

static trasmuon_builder* builder_with(const char* rule) {
  trasmuon_options* options = NULL;
  trasmuon_builder* builder = NULL;
  CHECK_OK(trasmuon_options_create(rule, &options));
  CHECK_OK(trasmuon_builder_create(&builder));
  CHECK_OK(trasmuon_builder_add_group(builder, options, NULL));
  trasmuon_options_destroy(options); /* the group has its own copy */
  return builder;
}

static void test_numbering(void) {
  trasmuon_options* options = NULL;
  trasmuon_builder* builder = builder_with("muon");
  trasmuon_optimizer *first = NULL, *second = NULL;
  trasmuon_parameter p = parameter("a", matrix_f32(memory, 2, 3));
  size_t group = 99, index = 99;
  CHECK_OK(trasmuon_builder_add_parameter(builder, &p, &index));
  CHECK(index == 0);
  CHECK_OK(trasmuon_options_create("adamw", &options));
  CHECK_OK(trasmuon_builder_add_group(builder, options, &group));
  CHECK(group == 1);
  p = parameter("b", vector_f32(memory + 6, 4));
  CHECK_OK(trasmuon_builder_add_parameter(builder, &p, &index));
  CHECK(index == 1);
  CHECK_OK(trasmuon_builder_finish(builder, &first));
  CHECK_OK(trasmuon_builder_finish(builder, &second)); /* a builder can be used again */
  CHECK(first != second);
  CHECK_OK(trasmuon_optimizer_group_count(second, &group));
  CHECK(group == 2);
  CHECK_OK(trasmuon_optimizer_parameter_count(second, &index));
  CHECK(index == 2);
  trasmuon_optimizer_destroy(first);
  trasmuon_optimizer_destroy(second);
  trasmuon_builder_destroy(builder);
  trasmuon_options_destroy(options);
}

static void test_refused_parameters(void) {
  trasmuon_builder* builder = NULL;
  trasmuon_optimizer* optimizer = NULL;
  trasmuon_parameter p = parameter("a", matrix_f32(memory, 2, 3));
  CHECK_OK(trasmuon_builder_create(&builder));
  CHECK_REFUSED(trasmuon_builder_add_parameter(builder, &p, NULL),
                "parameter 'a': must be in a group, call trasmuon_builder_add_group first");
  CHECK_REFUSED(trasmuon_builder_finish(builder, &optimizer), "optimizer: groups must not be empty");
  trasmuon_builder_destroy(builder);

  builder = builder_with("muon");
  CHECK_REFUSED(trasmuon_builder_finish(builder, &optimizer), "group 0 (muon): has no parameters");
  p.weight.dtype = 5;
  CHECK_REFUSED(trasmuon_builder_add_parameter(builder, &p, NULL), "parameter 'a': dtype must be in [0, 4], got 5");
  p.weight.dtype = TRASMUON_F32;
  p.weight.rank = 6;
  CHECK_REFUSED(trasmuon_builder_add_parameter(builder, &p, NULL), "parameter 'a': rank must be in [0, 5], got 6");
  p.weight.rank = -1;
  CHECK_REFUSED(trasmuon_builder_add_parameter(builder, &p, NULL), "parameter 'a': rank must be in [0, 5], got -1");
  p.weight.rank = 2;
  p.weight.shape[1] = -3;
  CHECK_REFUSED(trasmuon_builder_add_parameter(builder, &p, NULL), "parameter 'a': shape: sizes must be >= 0, got -3");
  p.weight.shape[1] = 3;
  p.layout = 3;
  CHECK_REFUSED(trasmuon_builder_add_parameter(builder, &p, NULL), "parameter 'a': layout must be in [0, 2], got 3");
  p.layout = TRASMUON_LAYOUT_AUTOMATIC;
  p.transposed = 2;
  CHECK_REFUSED(trasmuon_builder_add_parameter(builder, &p, NULL), "parameter 'a': transposed must be 0 or 1, got 2");
  CHECK_REFUSED(trasmuon_builder_set_master_weights(builder, 7), "master_weights must be 0 or 1, got 7");
  CHECK_REFUSED(trasmuon_builder_set_diagnostics(builder, -1), "diagnostics must be 0 or 1, got -1");

  /* Nothing above was added: the vector is parameter 0, refused by the optimizer itself. */
  size_t index = 99;
  p = parameter("v", vector_f32(memory, 6));
  CHECK_OK(trasmuon_builder_add_parameter(builder, &p, &index));
  CHECK(index == 0);
  CHECK_REFUSED(trasmuon_builder_finish(builder, &optimizer),
                "parameter 'v': a matrix rule needs at least two dimensions, got shape [6]; use adamw");
  CHECK(optimizer == NULL);
  trasmuon_builder_destroy(builder);
}

/* Callers built against an older or newer header. */
static void test_struct_size(void) {
  struct {
    trasmuon_parameter known;
    long long unknown;
  } newer = {parameter("a", matrix_f32(memory, 2, 3)), 0};
  trasmuon_builder* builder = builder_with("muon");
  char message[160];
  newer.known.struct_size = sizeof newer;
  CHECK_OK(trasmuon_builder_add_parameter(builder, &newer.known, NULL));
  newer.unknown = 1;
  snprintf(message, sizeof message,
           "parameter: struct_size must be <= %zu unless all bytes beyond are zero: this library does not know these "
           "fields, got %zu",
           sizeof(trasmuon_parameter), sizeof newer);
  CHECK_REFUSED(trasmuon_builder_add_parameter(builder, &newer.known, NULL), message);
  newer.known.struct_size = (size_t)1 << 40; /* not set by the caller: reading that far would crash */
  snprintf(message, sizeof message, "parameter: struct_size must be sizeof(trasmuon_parameter) = %zu, got %zu",
           sizeof(trasmuon_parameter), (size_t)1 << 40);
  CHECK_REFUSED(trasmuon_builder_add_parameter(builder, &newer.known, NULL), message);
  newer.known.struct_size = 0;
  CHECK(trasmuon_builder_add_parameter(builder, &newer.known, NULL) == TRASMUON_ERROR_REFUSED);
  trasmuon_builder_destroy(builder);
}

/* layout, transposed and row_blocks arrive: each changes the number of matrices or refuses. */
static size_t matrices_of(trasmuon_parameter p) {
  trasmuon_builder* builder = builder_with("muon");
  trasmuon_optimizer* optimizer = NULL;
  size_t count = 0;
  CHECK_OK(trasmuon_builder_set_diagnostics(builder, 1));
  CHECK_OK(trasmuon_builder_add_parameter(builder, &p, NULL));
  CHECK_OK(trasmuon_builder_finish(builder, &optimizer));
  CHECK_OK(trasmuon_optimizer_diagnostics_count(optimizer, 0, &count));
  trasmuon_optimizer_destroy(optimizer);
  trasmuon_builder_destroy(builder);
  return count;
}

static void test_layouts(void) {
  const int64_t blocks[] = {2, 3, 1};
  trasmuon_tensor cube = {memory, TRASMUON_F32, 3, {2, 3, 4}, 0};
  trasmuon_parameter p = parameter("experts", cube);
  CHECK(matrices_of(p) == 2);
  p.layout = TRASMUON_LAYOUT_FLATTEN;
  CHECK(matrices_of(p) == 1);
  p = parameter("qkv", matrix_f32(memory, 4, 6));
  p.transposed = 1; /* six output rows */
  p.row_blocks = blocks;
  p.row_block_count = 3;
  CHECK(matrices_of(p) == 3);
}

void test_builder(void) {
  fill(memory, 24, 1);
  test_numbering();
  test_refused_parameters();
  test_struct_size();
  test_layouts();
  trasmuon_builder_destroy(NULL);
  trasmuon_optimizer_destroy(NULL);
}
