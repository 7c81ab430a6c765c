/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "check.h"
#include "tensors.h"

enum { kRows = 8, kCols = 12, kMatrix = kRows * kCols, kVector = 3 };

static float weight[kMatrix], bias[kVector], matrix_gradient[kMatrix], vector_gradient[kVector];
static trasmuon_tensor gradients[2];

/* A matrix under TrasMuon without damping and a vector under AdamW, no decay. */
static trasmuon_optimizer* make_optimizer(void) {
  trasmuon_options *hidden = NULL, *rest = NULL;
  trasmuon_builder* builder = NULL;
  trasmuon_optimizer* optimizer = NULL;
  trasmuon_parameter p = parameter("weight", matrix_f32(weight, kRows, kCols));
  fill(weight, kMatrix, 1);
  fill(bias, kVector, 2);
  fill(matrix_gradient, kMatrix, 3);
  fill(vector_gradient, kVector, 4);
  gradients[0] = matrix_f32(matrix_gradient, kRows, kCols);
  gradients[1] = vector_f32(vector_gradient, kVector);
  CHECK_OK(trasmuon_options_create("trasmuon", &hidden));
  CHECK_OK(trasmuon_options_set(hidden, "clip", "none"));
  CHECK_OK(trasmuon_options_set_number(hidden, "lr", 0.02));
  CHECK_OK(trasmuon_options_set_number(hidden, "weight_decay", 0));
  CHECK_OK(trasmuon_options_create("adamw", &rest));
  CHECK_OK(trasmuon_options_set_number(rest, "lr", 0.5));
  CHECK_OK(trasmuon_options_set_number(rest, "weight_decay", 0));
  CHECK_OK(trasmuon_builder_create(&builder));
  CHECK_OK(trasmuon_builder_set_diagnostics(builder, 1));
  CHECK_OK(trasmuon_builder_add_group(builder, hidden, NULL));
  CHECK_OK(trasmuon_builder_add_parameter(builder, &p, NULL));
  CHECK_OK(trasmuon_builder_add_group(builder, rest, NULL));
  p = parameter("bias", vector_f32(bias, kVector));
  CHECK_OK(trasmuon_builder_add_parameter(builder, &p, NULL));
  CHECK_OK(trasmuon_builder_finish(builder, &optimizer));
  trasmuon_builder_destroy(builder);
  trasmuon_options_destroy(hidden);
  trasmuon_options_destroy(rest);
  return optimizer;
}

static double rms_change(const float* before) {
  double sum = 0;
  for (int i = 0; i < kMatrix; ++i) sum += (double)(weight[i] - before[i]) * (weight[i] - before[i]);
  return sqrt(sum / kMatrix);
}

static void test_step(void) {
  float matrix_before[kMatrix], vector_before[kVector];
  trasmuon_optimizer* optimizer = make_optimizer();
  size_t bytes = 0;
  memcpy(matrix_before, weight, sizeof weight);
  memcpy(vector_before, bias, sizeof bias);
  CHECK_OK(trasmuon_optimizer_step(optimizer, gradients, 2));
  CHECK(fabs(rms_change(matrix_before) - 0.2 * 0.02) < 1e-6); /* the calibrated step */
  for (int i = 0; i < kVector; ++i) {
    const double sign = vector_gradient[i] > 0 ? 1 : -1; /* AdamW's first step */
    CHECK(fabs(bias[i] - (vector_before[i] - 0.5 * sign)) < 1e-5);
  }
  CHECK_OK(trasmuon_optimizer_state_bytes(optimizer, &bytes));
  CHECK(bytes >= (kMatrix + 2 * kVector) * sizeof(float));
  bytes = 0;
  CHECK_OK(trasmuon_optimizer_workspace_bytes(optimizer, &bytes));
  CHECK(bytes > 0);
  trasmuon_optimizer_destroy(optimizer);
}

static void test_missing_and_refused_gradients(void) {
  float matrix_before[kMatrix], vector_before[kVector];
  trasmuon_optimizer* optimizer = make_optimizer();
  trasmuon_tensor none = {NULL, 77, -1, {0}, 0}; /* without data the rest is not read */
  memcpy(matrix_before, weight, sizeof weight);
  memcpy(vector_before, bias, sizeof bias);
  trasmuon_tensor given[2] = {none, gradients[1]};
  CHECK_OK(trasmuon_optimizer_step(optimizer, given, 2));
  CHECK(memcmp(weight, matrix_before, sizeof weight) == 0);
  CHECK(memcmp(bias, vector_before, sizeof bias) != 0);

  memcpy(vector_before, bias, sizeof bias);
  CHECK_REFUSED(trasmuon_optimizer_step(optimizer, gradients, 1), "step: needs one gradient per parameter, 2, got 1");
  given[0] = gradients[0];
  given[1].shape[0] = 2;
  CHECK_REFUSED(trasmuon_optimizer_step(optimizer, given, 2), "gradient of 'bias': shape must be [3], got [2]");
  given[1].dtype = 9;
  CHECK_REFUSED(trasmuon_optimizer_step(optimizer, given, 2), "gradient 1: dtype must be in [0, 4], got 9");
  CHECK(memcmp(weight, matrix_before, sizeof weight) == 0);
  CHECK(memcmp(bias, vector_before, sizeof bias) == 0);
  trasmuon_optimizer_destroy(optimizer);
}

static void test_options_between_steps(void) {
  float before[kMatrix];
  trasmuon_optimizer* optimizer = make_optimizer();
  trasmuon_options* options = NULL;
  const char* text = NULL;
  double lr = 0;
  CHECK_OK(trasmuon_optimizer_set_number(optimizer, 0, "lr", 0.005));
  CHECK_OK(trasmuon_optimizer_set_number(optimizer, 0, "nesterov", 1));
  CHECK_OK(trasmuon_optimizer_set(optimizer, 0, "coefficients", "you"));
  CHECK_OK(trasmuon_optimizer_get_options(optimizer, 0, &options));
  CHECK_OK(trasmuon_options_get_number(options, "lr", &lr));
  CHECK(lr == 0.005);
  CHECK_OK(trasmuon_options_get(options, "coefficients", &text));
  CHECK_TEXT(text, "you");
  CHECK_OK(trasmuon_options_get(options, "nesterov", &text));
  CHECK_TEXT(text, "true");
  memcpy(before, weight, sizeof weight);
  CHECK_OK(trasmuon_optimizer_step(optimizer, gradients, 2));
  CHECK(fabs(rms_change(before) - 0.2 * 0.005) < 1e-6);

  CHECK_OK(trasmuon_options_set_number(options, "lr", 0.01));
  CHECK_OK(trasmuon_optimizer_set_options(optimizer, 0, options));
  memcpy(before, weight, sizeof weight);
  CHECK_OK(trasmuon_optimizer_step_on_streams(optimizer, gradients, 2, NULL, 0));
  CHECK_OK(trasmuon_optimizer_refresh_recorded(optimizer, NULL));
  CHECK_OK(trasmuon_optimizer_refresh_recorded_on_streams(optimizer, NULL, 0));
  CHECK(fabs(rms_change(before) - 0.2 * 0.01) < 1e-6);

  CHECK_REFUSED(trasmuon_optimizer_set_options(optimizer, 1, options), "group 1: rule must stay adamw, got trasmuon");
  CHECK_REFUSED(trasmuon_optimizer_set_number(optimizer, 2, "lr", 1), "group index must be < 2, got 2");
  CHECK_REFUSED(trasmuon_optimizer_set_number(optimizer, 1, "lr", -1), "adamw: lr must be in [0, 1e+20], got -1");
  CHECK_REFUSED(trasmuon_optimizer_set(optimizer, 1, "rho", "0.1"), "adamw: has no field 'rho'");
  trasmuon_options_destroy(options);
  trasmuon_optimizer_destroy(optimizer);
}

static void test_parameters(void) {
  float elsewhere[kMatrix], before[kMatrix];
  trasmuon_optimizer* optimizer = make_optimizer();
  const char *name = NULL, *same_name = NULL;
  size_t index = 99, group = 99;
  trasmuon_tensor tensor;
  CHECK_OK(trasmuon_optimizer_index_of(optimizer, "bias", &index));
  CHECK(index == 1);
  CHECK_REFUSED(trasmuon_optimizer_index_of(optimizer, "nobody", &index), "no parameter named 'nobody'");
  CHECK_OK(trasmuon_optimizer_parameter(optimizer, 1, &name, &group, &tensor));
  CHECK_TEXT(name, "bias");
  CHECK(group == 1);
  CHECK(tensor.data == bias && tensor.dtype == TRASMUON_F32 && tensor.rank == 1 && tensor.shape[0] == kVector);
  CHECK_OK(trasmuon_optimizer_parameter(optimizer, 0, NULL, NULL, NULL));
  CHECK_REFUSED(trasmuon_optimizer_parameter(optimizer, 2, &name, NULL, NULL), "parameter index must be < 2, got 2");

  memcpy(elsewhere, weight, sizeof weight);
  memcpy(before, weight, sizeof weight);
  CHECK_OK(trasmuon_optimizer_parameter(optimizer, 0, &name, NULL, NULL));
  CHECK_OK(trasmuon_optimizer_rebind_weight(optimizer, 0, elsewhere));
  CHECK_OK(trasmuon_optimizer_parameter(optimizer, 0, &same_name, NULL, NULL));
  CHECK(name == same_name);
  CHECK_TEXT(name, "weight");
  CHECK_OK(trasmuon_optimizer_step(optimizer, gradients, 2));
  CHECK(memcmp(weight, before, sizeof weight) == 0);
  CHECK(memcmp(elsewhere, before, sizeof weight) != 0);
  trasmuon_optimizer_destroy(optimizer);
}

static void test_diagnostics(void) {
  trasmuon_optimizer* optimizer = make_optimizer();
  trasmuon_diagnostics d;
  struct {
    trasmuon_diagnostics known;
    double unknown;
  } newer = {{0}, 3};
  size_t count = 0;
  CHECK_OK(trasmuon_optimizer_step(optimizer, gradients, 2));
  CHECK_OK(trasmuon_optimizer_diagnostics_count(optimizer, 0, &count));
  CHECK(count == 1);
  memset(&d, 0xff, sizeof d);
  CHECK_OK(trasmuon_optimizer_diagnostics(optimizer, 0, 0, &d, sizeof d));
  CHECK(d.step == 1 && d.skipped == 0 && d.updated == 1);
  CHECK(d.c_min == 1 && d.c_mean == 1 && d.damped_share == 0);
  CHECK(fabs(d.update_rms - 0.2 * 0.02) < 1e-6);
  CHECK(d.eta_hat > 0 && d.isometry_error > 0);

  /* An older caller gets the fields it knows and no byte more; a newer one gets zeros. */
  memset(&d, 0xff, sizeof d);
  CHECK_OK(trasmuon_optimizer_diagnostics(optimizer, 0, 0, &d, offsetof(trasmuon_diagnostics, updated)));
  CHECK(d.step == 1 && d.skipped == 0 && d.updated == -1);
  CHECK_OK(trasmuon_optimizer_diagnostics(optimizer, 0, 0, (trasmuon_diagnostics*)&newer, sizeof newer));
  CHECK(newer.known.step == 1 && newer.unknown == 0);
  CHECK_REFUSED(trasmuon_optimizer_diagnostics(optimizer, 0, 1, &d, sizeof d), "matrix index must be < 1, got 1");
  char message[120];
  snprintf(message, sizeof message, "diagnostics: struct_size must be sizeof(trasmuon_diagnostics) = %zu, got %zu",
           sizeof d, (size_t)1 << 40);
  CHECK_REFUSED(trasmuon_optimizer_diagnostics(optimizer, 0, 0, &d, (size_t)1 << 40), message);
  trasmuon_optimizer_destroy(optimizer);
}

static void test_warnings(void) {
  trasmuon_optimizer* optimizer = make_optimizer();
  const char* text = NULL;
  CHECK_OK(trasmuon_optimizer_warnings(optimizer, &text));
  CHECK_TEXT(text, "");
  CHECK_OK(trasmuon_optimizer_set(optimizer, 0, "clip", "soft"));
  CHECK_OK(trasmuon_optimizer_set(optimizer, 0, "rho", "0.5"));
  CHECK_OK(trasmuon_optimizer_set(optimizer, 0, "period", "2"));
  CHECK_OK(trasmuon_optimizer_warnings(optimizer, &text));
  CHECK_TEXT(text,
             "trasmuon: rho 0.5 > 0.3 nearly switches damping off\n"
             "trasmuon: period 2 > 1 misses bursts of a single step");
  trasmuon_optimizer_destroy(optimizer);
}

void test_optimizer(void) {
  test_step();
  test_missing_and_refused_gradients();
  test_options_between_steps();
  test_parameters();
  test_diagnostics();
  test_warnings();
}
