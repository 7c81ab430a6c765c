/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "tensors.h"

/* Each pointer of each function, one at a time. */
void test_null_arguments(void) {
  float data[4] = {1, 2, 3, 4};
  const trasmuon_tensor tensor = matrix_f32(data, 2, 2);
  trasmuon_parameter p = parameter("a", tensor);
  trasmuon_named_shape shape = {"a", 2, {2, 2}};
  trasmuon_options* options = NULL;
  trasmuon_builder* builder = NULL;
  trasmuon_optimizer* optimizer = NULL;
  trasmuon_diagnostics diagnostics;
  const char* text = NULL;
  double value = 0;
  size_t n = 0;
  int family = 0;

#define NULL_IN(function, arguments, name) CHECK_NULL(function arguments, #function ": " name " must not be NULL")
  NULL_IN(trasmuon_options_create, (NULL, &options), "rule");
  NULL_IN(trasmuon_options_create, ("muon", NULL), "options");
  NULL_IN(trasmuon_options_create_preset, (NULL, "default", &options), "rule");
  NULL_IN(trasmuon_options_create_preset, ("muon", NULL, &options), "preset");
  NULL_IN(trasmuon_options_create_preset, ("muon", "default", NULL), "options");
  NULL_IN(trasmuon_builder_create, (NULL), "builder");
  CHECK_OK(trasmuon_options_create("muon", &options));
  CHECK_OK(trasmuon_builder_create(&builder));

  NULL_IN(trasmuon_options_rule, (NULL, &text), "options");
  NULL_IN(trasmuon_options_rule, (options, NULL), "name");
  NULL_IN(trasmuon_options_set, (NULL, "lr", "1"), "options");
  NULL_IN(trasmuon_options_set, (options, NULL, "1"), "field");
  NULL_IN(trasmuon_options_set, (options, "lr", NULL), "value");
  NULL_IN(trasmuon_options_set_number, (NULL, "lr", 1), "options");
  NULL_IN(trasmuon_options_set_number, (options, NULL, 1), "field");
  NULL_IN(trasmuon_options_get, (NULL, "lr", &text), "options");
  NULL_IN(trasmuon_options_get, (options, NULL, &text), "field");
  NULL_IN(trasmuon_options_get, (options, "lr", NULL), "text");
  NULL_IN(trasmuon_options_get_number, (NULL, "lr", &value), "options");
  NULL_IN(trasmuon_options_get_number, (options, NULL, &value), "field");
  NULL_IN(trasmuon_options_get_number, (options, "lr", NULL), "value");
  NULL_IN(trasmuon_options_field_count, (NULL, &n), "options");
  NULL_IN(trasmuon_options_field_count, (options, NULL), "count");
  NULL_IN(trasmuon_options_field, (NULL, 0, &text), "options");
  NULL_IN(trasmuon_options_field, (options, 0, NULL), "name");
  NULL_IN(trasmuon_options_describe, (NULL, &text), "options");
  NULL_IN(trasmuon_options_describe, (options, NULL), "text");

  NULL_IN(trasmuon_builder_add_group, (NULL, options, NULL), "builder");
  NULL_IN(trasmuon_builder_add_group, (builder, NULL, NULL), "options");
  CHECK_OK(trasmuon_builder_add_group(builder, options, NULL));
  NULL_IN(trasmuon_builder_add_parameter, (NULL, &p, NULL), "builder");
  NULL_IN(trasmuon_builder_add_parameter, (builder, NULL, NULL), "parameter");
  p.name = NULL;
  NULL_IN(trasmuon_builder_add_parameter, (builder, &p, NULL), "parameter->name");
  p.name = "a";
  p.row_block_count = 1;
  NULL_IN(trasmuon_builder_add_parameter, (builder, &p, NULL), "parameter->row_blocks");
  p.row_block_count = 0;
  CHECK_OK(trasmuon_builder_add_parameter(builder, &p, NULL));
  NULL_IN(trasmuon_builder_set_master_weights, (NULL, 0), "builder");
  NULL_IN(trasmuon_builder_set_diagnostics, (NULL, 0), "builder");
  NULL_IN(trasmuon_builder_set_state, (NULL, NULL, NULL), "builder");
  CHECK_OK(trasmuon_builder_set_state(builder, NULL, NULL));
  CHECK_OK(trasmuon_builder_set_diagnostics(builder, 1));
  NULL_IN(trasmuon_builder_finish, (NULL, &optimizer), "builder");
  NULL_IN(trasmuon_builder_finish, (builder, NULL), "optimizer");
  CHECK_OK(trasmuon_builder_finish(builder, &optimizer));

  NULL_IN(trasmuon_optimizer_step, (NULL, &tensor, 1), "optimizer");
  NULL_IN(trasmuon_optimizer_step, (optimizer, NULL, 1), "gradients");
  NULL_IN(trasmuon_optimizer_step_on, (NULL, &tensor, 1, NULL), "optimizer");
  NULL_IN(trasmuon_optimizer_step_on, (optimizer, NULL, 1, NULL), "gradients");
  NULL_IN(trasmuon_optimizer_step_on_streams, (NULL, &tensor, 1, NULL, 0), "optimizer");
  NULL_IN(trasmuon_optimizer_step_on_streams, (optimizer, NULL, 1, NULL, 0), "gradients");
  NULL_IN(trasmuon_optimizer_step_on_streams, (optimizer, &tensor, 1, NULL, 1), "streams");
  NULL_IN(trasmuon_optimizer_refresh_recorded, (NULL, NULL), "optimizer");
  NULL_IN(trasmuon_optimizer_refresh_recorded_on_streams, (NULL, NULL, 0), "optimizer");
  NULL_IN(trasmuon_optimizer_refresh_recorded_on_streams, (optimizer, NULL, 1), "streams");
  NULL_IN(trasmuon_optimizer_group_count, (NULL, &n), "optimizer");
  NULL_IN(trasmuon_optimizer_group_count, (optimizer, NULL), "count");
  trasmuon_options* copy = NULL;
  NULL_IN(trasmuon_optimizer_get_options, (NULL, 0, &copy), "optimizer");
  NULL_IN(trasmuon_optimizer_get_options, (optimizer, 0, NULL), "options");
  NULL_IN(trasmuon_optimizer_set_options, (NULL, 0, options), "optimizer");
  NULL_IN(trasmuon_optimizer_set_options, (optimizer, 0, NULL), "options");
  NULL_IN(trasmuon_optimizer_set, (NULL, 0, "lr", "1"), "optimizer");
  NULL_IN(trasmuon_optimizer_set, (optimizer, 0, NULL, "1"), "field");
  NULL_IN(trasmuon_optimizer_set, (optimizer, 0, "lr", NULL), "value");
  NULL_IN(trasmuon_optimizer_set_number, (NULL, 0, "lr", 1), "optimizer");
  NULL_IN(trasmuon_optimizer_set_number, (optimizer, 0, NULL, 1), "field");
  NULL_IN(trasmuon_optimizer_parameter_count, (NULL, &n), "optimizer");
  NULL_IN(trasmuon_optimizer_parameter_count, (optimizer, NULL), "count");
  NULL_IN(trasmuon_optimizer_index_of, (NULL, "a", &n), "optimizer");
  NULL_IN(trasmuon_optimizer_index_of, (optimizer, NULL, &n), "parameter");
  NULL_IN(trasmuon_optimizer_index_of, (optimizer, "a", NULL), "index");
  NULL_IN(trasmuon_optimizer_parameter, (NULL, 0, NULL, NULL, NULL), "optimizer");
  NULL_IN(trasmuon_optimizer_rebind_weight, (NULL, 0, data), "optimizer");
  NULL_IN(trasmuon_optimizer_refresh_master, (NULL, 0), "optimizer");
  NULL_IN(trasmuon_optimizer_rebind_weight, (optimizer, 0, NULL), "data");
  NULL_IN(trasmuon_optimizer_state_count, (NULL, 0, &n), "optimizer");
  NULL_IN(trasmuon_optimizer_state_count, (optimizer, 0, NULL), "count");
  NULL_IN(trasmuon_optimizer_state, (NULL, 0, 0, NULL, NULL), "optimizer");
  NULL_IN(trasmuon_optimizer_diagnostics_count, (NULL, 0, &n), "optimizer");
  NULL_IN(trasmuon_optimizer_diagnostics_count, (optimizer, 0, NULL), "count");
  NULL_IN(trasmuon_optimizer_diagnostics, (NULL, 0, 0, &diagnostics, sizeof diagnostics), "optimizer");
  NULL_IN(trasmuon_optimizer_diagnostics, (optimizer, 0, 0, NULL, sizeof diagnostics), "diagnostics");
  NULL_IN(trasmuon_optimizer_warnings, (NULL, &text), "optimizer");
  NULL_IN(trasmuon_optimizer_warnings, (optimizer, NULL), "text");
  NULL_IN(trasmuon_optimizer_state_bytes, (NULL, &n), "optimizer");
  NULL_IN(trasmuon_optimizer_state_bytes, (optimizer, NULL), "bytes");
  NULL_IN(trasmuon_optimizer_workspace_bytes, (NULL, &n), "optimizer");
  NULL_IN(trasmuon_optimizer_workspace_bytes, (optimizer, NULL), "bytes");
  NULL_IN(trasmuon_optimizer_save, (NULL, "file"), "optimizer");
  NULL_IN(trasmuon_optimizer_save, (optimizer, NULL), "path");
  NULL_IN(trasmuon_optimizer_load, (NULL, "file"), "optimizer");
  NULL_IN(trasmuon_optimizer_load, (optimizer, NULL), "path");

  NULL_IN(trasmuon_orthogonalize, (NULL, &tensor, 5, "keller", 0, 1e-7), "in");
  NULL_IN(trasmuon_orthogonalize, (&tensor, NULL, 5, "keller", 0, 1e-7), "out");
  NULL_IN(trasmuon_orthogonalize, (&tensor, &tensor, 5, NULL, 0, 1e-7), "coefficients");
  NULL_IN(trasmuon_orthogonalize_on, (&tensor, &tensor, 5, "keller", 0, 1e-7, NULL, TRASMUON_CPU, NULL), "precision");
  NULL_IN(trasmuon_classify, (NULL, 1, NULL, 0, &family, NULL), "parameters");
  NULL_IN(trasmuon_classify, (&shape, 1, NULL, 1, &family, NULL), "overrides");
  NULL_IN(trasmuon_classify, (&shape, 1, NULL, 0, NULL, NULL), "families");
  NULL_IN(trasmuon_classify_preset, (NULL, &shape, 1, NULL, 0, &family, NULL), "preset");
  NULL_IN(trasmuon_get_num_threads, (NULL), "threads");
#undef NULL_IN

  trasmuon_optimizer_destroy(optimizer);
  trasmuon_builder_destroy(builder);
  trasmuon_options_destroy(options);
}
