/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRASMUON_C_API_H
#define TRASMUON_C_API_H

#include <stddef.h>
#include <stdint.h>

#include "trasmuon/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The library in C11. Functions behave as in the C++ headers; this file documents the differences.
 *
 * Every function that can fail returns a trasmuon_status. After a failure
 * trasmuon_last_error() returns the reason; outputs and handles are unchanged, also when memory has run out
 * (optimizer.h has one exception, a step on CUDA).
 * Pointers must not be NULL unless the comment allows it; NULL returns TRASMUON_ERROR_NULL.
 *
 * A `const char**` output called `text` is valid until this thread's next call with such an
 * output; one called `name` is valid as long as its handle. Strings passed in are copied.
 *
 * A handle may be used by one thread at a time.
 */

/* Increases when a function or struct below changes incompatibly. */
#define TRASMUON_ABI_VERSION 1
TRASMUON_API int trasmuon_abi_version(void); /* of the loaded library */
TRASMUON_API const char* trasmuon_version(void);

typedef enum trasmuon_status {
  TRASMUON_OK = 0,
  TRASMUON_ERROR_REFUSED = 1, /* an argument, option, tensor or file breaks a rule */
  TRASMUON_ERROR_NULL = 2,    /* a pointer that must not be NULL is NULL */
  TRASMUON_ERROR_OUT_OF_MEMORY = 3,
  TRASMUON_ERROR_INTERNAL = 4 /* anything else: a bug in the library */
} trasmuon_status;

/* Returns why the last failed call of this thread failed, or "". Valid until the next failure. */
TRASMUON_API const char* trasmuon_last_error(void);

/* ---- Tensors ------------------------------------------------------------------------- */

enum { TRASMUON_F64 = 0, TRASMUON_F32 = 1, TRASMUON_BF16 = 2, TRASMUON_F16 = 3, TRASMUON_I64 = 4 };
enum { TRASMUON_MAX_RANK = 5 };

/* A row-major tensor in the caller's memory. This struct never changes. */
typedef struct trasmuon_tensor {
  void* data;
  int dtype; /* TRASMUON_F64 ... */
  int rank;
  int64_t shape[TRASMUON_MAX_RANK];
  int64_t row_stride; /* in elements; 0 = packed */
} trasmuon_tensor;

/* ---- Options ------------------------------------------------------------------------- */

typedef struct trasmuon_options trasmuon_options;

/* Creates the default options of "trasmuon", "normuon", "muon", "dion" or "adamw". */
TRASMUON_API int trasmuon_options_create(const char* rule, trasmuon_options** options);
/* The same for a preset: "default", "paper" or "released"; not every rule has the last two. */
TRASMUON_API int trasmuon_options_create_preset(const char* rule, const char* preset, trasmuon_options** options);
TRASMUON_API void trasmuon_options_destroy(trasmuon_options* options); /* NULL is allowed */
TRASMUON_API int trasmuon_options_rule(const trasmuon_options* options, const char** name);

/* Set or get a field by name; the value is text ("soft", "1e-3", "true") or a number (switches: 0 and 1). */
TRASMUON_API int trasmuon_options_set(trasmuon_options* options, const char* field, const char* value);
TRASMUON_API int trasmuon_options_set_number(trasmuon_options* options, const char* field, double value);
TRASMUON_API int trasmuon_options_get(const trasmuon_options* options, const char* field, const char** text);
/* Fails if the value is not a number: that of `clip`, or of `gamma` while it is lr or eta_hat. */
TRASMUON_API int trasmuon_options_get_number(const trasmuon_options* options, const char* field, double* value);

TRASMUON_API int trasmuon_options_field_count(const trasmuon_options* options, size_t* count);
TRASMUON_API int trasmuon_options_field(const trasmuon_options* options, size_t index, const char** name);
/* Returns a table of the fields: name, value, range, description. */
TRASMUON_API int trasmuon_options_describe(const trasmuon_options* options, const char** text);

/* ---- Building an optimizer ----------------------------------------------------------- */

enum { TRASMUON_CPU = 0, TRASMUON_CUDA = 1 };
/* Sets `text` to "" if parameters on this device can be stepped, otherwise to the reason why not. */
TRASMUON_API int trasmuon_why_unusable(int device, const char** text);

enum { TRASMUON_LAYOUT_AUTOMATIC = 0, TRASMUON_LAYOUT_BATCH = 1, TRASMUON_LAYOUT_FLATTEN = 2 };

/* Set struct_size to sizeof(trasmuon_parameter), and unused fields to zero. A struct of a later header is accepted if
 * the fields that this library does not know are zero. */
typedef struct trasmuon_parameter {
  size_t struct_size;
  const char* name;
  trasmuon_tensor weight;    /* must outlive the optimizer, or be replaced with rebind_weight */
  int layout;                /* TRASMUON_LAYOUT_... */
  int transposed;            /* 1: stored [in, out] */
  const int64_t* row_blocks; /* sizes along `out`; NULL: one block */
  size_t row_block_count;
  int device; /* of weight, gradient and state: TRASMUON_CPU, or TRASMUON_CUDA + index */
  /* Where `weight` has only some rows of its first dimension, perhaps none: the first of them, and how many there are
   * on all ranks together. total_rows 0: the weight is whole. The weight of an empty shard may have data NULL. */
  int64_t first_row;
  int64_t total_rows;
} trasmuon_parameter;

/*
 * Returns memory for one state tensor of parameter `index`; `spec` has its dtype and shape
 * (its data is NULL). The memory must outlive the optimizer, which writes the initial values.
 * If it returns NULL, trasmuon_builder_finish fails.
 */
typedef void* (*trasmuon_state_callback)(void* user, size_t index, const char* name, const trasmuon_tensor* spec);

typedef struct trasmuon_builder trasmuon_builder;
typedef struct trasmuon_optimizer trasmuon_optimizer;

TRASMUON_API int trasmuon_builder_create(trasmuon_builder** builder);
TRASMUON_API void trasmuon_builder_destroy(trasmuon_builder* builder); /* NULL is allowed */
/* Starts a group; the options are copied. `group` may be NULL. */
TRASMUON_API int trasmuon_builder_add_group(trasmuon_builder* builder, const trasmuon_options* options, size_t* group);
/* Adds a parameter to the last group. Parameters are numbered in the order they are added. `index` may be NULL. */
TRASMUON_API int trasmuon_builder_add_parameter(trasmuon_builder* builder, const trasmuon_parameter* parameter,
                                                size_t* index);
TRASMUON_API int trasmuon_builder_set_master_weights(trasmuon_builder* builder, int on);
TRASMUON_API int trasmuon_builder_set_diagnostics(trasmuon_builder* builder, int on);
/* Sets who provides memory for the state; NULL: the optimizer. Called by trasmuon_builder_finish only. */
TRASMUON_API int trasmuon_builder_set_state(trasmuon_builder* builder, trasmuon_state_callback callback, void* user);
/* Checks everything and builds the optimizer. The caller still has to destroy the builder. */
TRASMUON_API int trasmuon_builder_finish(const trasmuon_builder* builder, trasmuon_optimizer** optimizer);

/* ---- Optimizer ----------------------------------------------------------------------- */

TRASMUON_API void trasmuon_optimizer_destroy(trasmuon_optimizer* optimizer); /* NULL is allowed */

/* Does one step. Takes one gradient per parameter; a gradient with data NULL leaves its parameter unchanged, unless it
 * is the gradient of an empty shard and has its shape. */
TRASMUON_API int trasmuon_optimizer_step(trasmuon_optimizer* optimizer, const trasmuon_tensor* gradients, size_t count);
/* The same, with GPU work enqueued on this cudaStream_t; NULL: the default stream. */
TRASMUON_API int trasmuon_optimizer_step_on(trasmuon_optimizer* optimizer, const trasmuon_tensor* gradients,
                                            size_t count, void* stream);
/* The same for parameters on several GPUs: streams[i] is used for device TRASMUON_CUDA + i. */
TRASMUON_API int trasmuon_optimizer_step_on_streams(trasmuon_optimizer* optimizer, const trasmuon_tensor* gradients,
                                                    size_t count, void* const* streams, size_t stream_count);
/* Updates learning rate and other scalars inside CUDA graphs that were captured earlier, for replays that follow on
 * `stream`. Fails if the stages of a step have changed since the capture. */
TRASMUON_API int trasmuon_optimizer_refresh_recorded(trasmuon_optimizer* optimizer, void* stream);
TRASMUON_API int trasmuon_optimizer_refresh_recorded_on_streams(trasmuon_optimizer* optimizer, void* const* streams,
                                                                size_t stream_count);

TRASMUON_API int trasmuon_optimizer_group_count(const trasmuon_optimizer* optimizer, size_t* count);
/* Returns a copy, which the caller destroys. */
TRASMUON_API int trasmuon_optimizer_get_options(const trasmuon_optimizer* optimizer, size_t group,
                                                trasmuon_options** options);
TRASMUON_API int trasmuon_optimizer_set_options(trasmuon_optimizer* optimizer, size_t group,
                                                const trasmuon_options* options);
TRASMUON_API int trasmuon_optimizer_set(trasmuon_optimizer* optimizer, size_t group, const char* field,
                                        const char* value);
TRASMUON_API int trasmuon_optimizer_set_number(trasmuon_optimizer* optimizer, size_t group, const char* field,
                                               double value);

TRASMUON_API int trasmuon_optimizer_parameter_count(const trasmuon_optimizer* optimizer, size_t* count);
TRASMUON_API int trasmuon_optimizer_index_of(const trasmuon_optimizer* optimizer, const char* parameter, size_t* index);
/* Each output may be NULL. */
TRASMUON_API int trasmuon_optimizer_parameter(const trasmuon_optimizer* optimizer, size_t index, const char** name,
                                              size_t* group, trasmuon_tensor* weight);
TRASMUON_API int trasmuon_optimizer_rebind_weight(trasmuon_optimizer* optimizer, size_t index, void* data);
/* Copies a 16-bit weight into its master weight; does nothing without one. */
TRASMUON_API int trasmuon_optimizer_refresh_master(trasmuon_optimizer* optimizer, size_t index);

TRASMUON_API int trasmuon_optimizer_state_count(const trasmuon_optimizer* optimizer, size_t index, size_t* count);
/* Returns a view of state tensor `which` of parameter `index`. Each output may be NULL. */
TRASMUON_API int trasmuon_optimizer_state(const trasmuon_optimizer* optimizer, size_t index, size_t which,
                                          const char** name, trasmuon_tensor* tensor);

/* See diagnostics.h. New fields are added at the end only. */
typedef struct trasmuon_diagnostics {
  int64_t step;
  int64_t skipped;
  int64_t updated; /* 0 or 1 */
  double r_max;
  double r_q95;
  double c_min;
  double c_mean;
  double damped_share;
  double update_rms;
  double eta_hat;
  double isometry_error;
} trasmuon_diagnostics;

/* Returns the number of matrices of the parameter; 0 unless diagnostics are switched on. */
TRASMUON_API int trasmuon_optimizer_diagnostics_count(const trasmuon_optimizer* optimizer, size_t index, size_t* count);
/* Fills the first struct_size bytes: pass sizeof(trasmuon_diagnostics). */
TRASMUON_API int trasmuon_optimizer_diagnostics(const trasmuon_optimizer* optimizer, size_t index, size_t matrix,
                                                trasmuon_diagnostics* diagnostics, size_t struct_size);
/* Returns one warning per line; "" if there are none. */
TRASMUON_API int trasmuon_optimizer_warnings(const trasmuon_optimizer* optimizer, const char** text);
TRASMUON_API int trasmuon_optimizer_state_bytes(const trasmuon_optimizer* optimizer, size_t* bytes);
TRASMUON_API int trasmuon_optimizer_workspace_bytes(const trasmuon_optimizer* optimizer, size_t* bytes);

TRASMUON_API int trasmuon_optimizer_save(const trasmuon_optimizer* optimizer, const char* path);
TRASMUON_API int trasmuon_optimizer_load(trasmuon_optimizer* optimizer, const char* path);

/* ---- Sharded steps ------------------------------------------------------------------- */

/* A step of parameters that are sharded by rows over ranks, in five calls between which the caller sums and exchanges
 * buffers: see sharded_step.h and docs/distributed.md. */
typedef struct trasmuon_sharded_step trasmuon_sharded_step;

/* rows[r * parameters + p] is the number of rows of parameter p on rank r; `row_count` is the length of `rows`. `wire`,
 * the type of rows on their way, is TRASMUON_F32, TRASMUON_BF16 or TRASMUON_F16. Destroy it before the optimizer. */
TRASMUON_API int trasmuon_sharded_step_create(trasmuon_optimizer* optimizer, int rank, int ranks, const int64_t* rows,
                                              size_t row_count, int wire, trasmuon_sharded_step** step);
TRASMUON_API void trasmuon_sharded_step_destroy(trasmuon_sharded_step* step); /* NULL is allowed */

/* Returns the sizes of the buffers: doubles of `sums` and `norms`; and four arrays with an entry per rank, the bytes of
 * `rows` that go to it, of `gathered` that come from it, and, on the way back, of `directions` that go to it and of
 * `returned` that come from it. Each output may be NULL. */
TRASMUON_API int trasmuon_sharded_step_sizes(const trasmuon_sharded_step* step, size_t* sums, size_t* norms,
                                             size_t* to_owners, size_t* from_holders, size_t* to_holders,
                                             size_t* from_owners);
/* Returns the number of matrices that are cut, and the rank that orthogonalizes each of them in an array of that many
 * entries; the largest load over the mean; the number of ranks without work. Each output may be NULL. */
TRASMUON_API int trasmuon_sharded_step_ownership(const trasmuon_sharded_step* step, size_t* count, int* owners,
                                                 double* balance, int* idle);

/* The calls of a step in their order. Counts are those of the sizes above: doubles for `sums` and `norms`, bytes for
 * the others. Buffers are in the memory of the parameters' device; `stream` is a cudaStream_t or NULL. */
TRASMUON_API int trasmuon_sharded_step_momentum(trasmuon_sharded_step* step, const trasmuon_tensor* gradients,
                                                size_t count, double* sums, size_t sum_count, void* stream);
TRASMUON_API int trasmuon_sharded_step_pack(trasmuon_sharded_step* step, double* sums, size_t sum_count, void* rows,
                                            size_t row_bytes, void* stream);
TRASMUON_API int trasmuon_sharded_step_orthogonalize(trasmuon_sharded_step* step, const void* gathered,
                                                     size_t gathered_bytes, void* directions, size_t direction_bytes,
                                                     void* stream);
TRASMUON_API int trasmuon_sharded_step_row_scale(trasmuon_sharded_step* step, const void* returned,
                                                 size_t returned_bytes, double* norms, size_t norm_count, void* stream);
TRASMUON_API int trasmuon_sharded_step_apply(trasmuon_sharded_step* step, double* norms, size_t norm_count,
                                             void* stream);

enum {
  TRASMUON_PHASE_MOMENTUM = 0,
  TRASMUON_PHASE_PACK = 1,
  TRASMUON_PHASE_ORTHOGONALIZE = 2,
  TRASMUON_PHASE_ROW_SCALE = 3,
  TRASMUON_PHASE_APPLY = 4
};
/* Returns the call that is expected next, and the number of steps applied so far. Each output may be NULL. */
TRASMUON_API int trasmuon_sharded_step_phase(const trasmuon_sharded_step* step, int* phase, int64_t* applied);
/* Gives up the step that has begun, if any; weights and state are those before it. */
TRASMUON_API int trasmuon_sharded_step_cancel(trasmuon_sharded_step* step);

/* Distributes `count` pieces of work over ranks. `balance` and `idle` may be NULL. */
TRASMUON_API int trasmuon_assign_owners(const double* costs, size_t count, int ranks, int* owners, double* balance,
                                        int* idle);
TRASMUON_API int trasmuon_iteration_cost(int64_t m, int64_t n, int steps, double* cost);

/* What all ranks must have in common, one fact per line; a hash of such a text; the first difference of two. */
TRASMUON_API int trasmuon_optimizer_describe_table(const trasmuon_optimizer* optimizer, const char** text);
TRASMUON_API int trasmuon_fingerprint(const char* description, uint64_t* hash);
TRASMUON_API int trasmuon_first_difference(const char* one, const char* other, const char** text);

/* ---- Functions ----------------------------------------------------------------------- */

enum { TRASMUON_FORM_AUTOMATIC = 0, TRASMUON_FORM_STANDARD = 1, TRASMUON_FORM_GRAM = 2 };

/* out <- NS(in); the usual arguments are 5 steps, "keller", TRASMUON_FORM_AUTOMATIC, eps 1e-7. */
TRASMUON_API int trasmuon_orthogonalize(const trasmuon_tensor* in, const trasmuon_tensor* out, int steps,
                                        const char* coefficients, int form, double eps);

/* The same on the device that holds `in` and `out` (TRASMUON_CUDA + index), after earlier work on this cudaStream_t.
 * Waits for the result. `precision` is a value of the option ns_precision. */
TRASMUON_API int trasmuon_orthogonalize_on(const trasmuon_tensor* in, const trasmuon_tensor* out, int steps,
                                           const char* coefficients, int form, double eps, const char* precision,
                                           int device, void* stream);

enum { TRASMUON_FAMILY_MATRIX = 0, TRASMUON_FAMILY_ADAMW = 1 };

/* These two structs never change. */
typedef struct trasmuon_named_shape {
  const char* name;
  int rank;
  int64_t shape[TRASMUON_MAX_RANK];
} trasmuon_named_shape;

typedef struct trasmuon_family_override {
  const char* pattern; /* matches the whole name; * and ? are wildcards */
  int family;
} trasmuon_family_override;

/* Sets families[i] to the family of parameters[i], and `text`, unless NULL, to a table for printing. */
TRASMUON_API int trasmuon_classify(const trasmuon_named_shape* parameters, size_t count,
                                   const trasmuon_family_override* overrides, size_t override_count, int* families,
                                   const char** text);

/* The same with the routing of a preset: "default" or "released". */
TRASMUON_API int trasmuon_classify_preset(const char* preset, const trasmuon_named_shape* parameters, size_t count,
                                          const trasmuon_family_override* overrides, size_t override_count,
                                          int* families, const char** text);

TRASMUON_API int trasmuon_set_num_threads(int threads);
TRASMUON_API int trasmuon_get_num_threads(int* threads);

#ifdef __cplusplus
}
#endif

#endif
