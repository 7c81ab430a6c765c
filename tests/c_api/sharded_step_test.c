/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "tensors.h"

enum { RANKS = 2, ROWS = 6, COLS = 5, FIRST = 4, STEPS = 5, ALIGNED = 16 };

/* Rank 0 has four rows of the matrix, rank 1 two. */
typedef struct rank {
  float weight[ROWS * COLS];
  trasmuon_tensor gradient;
  trasmuon_optimizer* optimizer;
  trasmuon_sharded_step* step;
  double *sums, *norms;
  unsigned char *rows, *gathered, *directions, *returned;
  size_t sum_count, norm_count, row_bytes, gathered_bytes, direction_bytes, returned_bytes;
  size_t to_owners[RANKS], from_holders[RANKS], to_holders[RANKS], from_owners[RANKS];
} rank;

static trasmuon_optimizer* build_rule(const char* rule, float* weight, int64_t first, int64_t rows, int64_t total) {
  trasmuon_options* options = NULL;
  trasmuon_builder* builder = NULL;
  trasmuon_optimizer* optimizer = NULL;
  trasmuon_parameter p = parameter("w", matrix_f32(weight, rows, COLS));
  p.first_row = first;
  p.total_rows = total;
  CHECK_OK(trasmuon_options_create(rule, &options));
  CHECK_OK(trasmuon_builder_create(&builder));
  CHECK_OK(trasmuon_builder_add_group(builder, options, NULL));
  CHECK_OK(trasmuon_builder_add_parameter(builder, &p, NULL));
  CHECK_OK(trasmuon_builder_finish(builder, &optimizer));
  trasmuon_builder_destroy(builder);
  trasmuon_options_destroy(options);
  return optimizer;
}

static trasmuon_optimizer* build(float* weight, int64_t first, int64_t rows, int64_t total) {
  return build_rule("trasmuon", weight, first, rows, total);
}

static void start(rank* r, const char* rule, int number, const float* weight, float* gradient) {
  const int64_t counts[RANKS] = {FIRST, ROWS - FIRST};
  const int64_t first = number == 0 ? 0 : FIRST;
  memcpy(r->weight, weight + first * COLS, (size_t)(counts[number] * COLS) * sizeof *weight);
  r->gradient = matrix_f32(gradient + first * COLS, counts[number], COLS);
  r->optimizer = build_rule(rule, r->weight, first, counts[number], ROWS);
  CHECK_OK(trasmuon_sharded_step_create(r->optimizer, number, RANKS, counts, RANKS, TRASMUON_F32, &r->step));
  CHECK_OK(trasmuon_sharded_step_sizes(r->step, &r->sum_count, &r->norm_count, r->to_owners, r->from_holders,
                                       r->to_holders, r->from_owners));
  r->row_bytes = r->to_owners[0] + r->to_owners[1];
  r->gathered_bytes = r->from_holders[0] + r->from_holders[1];
  r->direction_bytes = r->to_holders[0] + r->to_holders[1];
  r->returned_bytes = r->from_owners[0] + r->from_owners[1];
  r->sums = calloc(r->sum_count, sizeof(double));
  r->norms = calloc(r->norm_count + 1, sizeof(double));
  r->rows = calloc(r->row_bytes + ALIGNED, 1);
  r->gathered = calloc(r->gathered_bytes + ALIGNED, 1);
  r->directions = calloc(r->direction_bytes + ALIGNED, 1);
  r->returned = calloc(r->returned_bytes + ALIGNED, 1);
}

static void stop(rank* r) {
  trasmuon_sharded_step_destroy(r->step);
  trasmuon_optimizer_destroy(r->optimizer);
  free(r->sums), free(r->norms), free(r->rows), free(r->returned), free(r->gathered), free(r->directions);
}

static void all_reduce(double* a, double* b, size_t count) {
  for (size_t i = 0; i < count; ++i) a[i] = b[i] = a[i] + b[i];
}

/* Moves what each rank has for each other rank; `back`: from the owners to the holders. */
static void all_to_all(rank* ranks, int back) {
  for (int to = 0; to < RANKS; ++to) {
    size_t at = 0;
    for (int from = 0; from < RANKS; ++from) {
      const size_t* counts = back ? ranks[from].to_holders : ranks[from].to_owners;
      const unsigned char* source = (back ? ranks[from].directions : ranks[from].rows) + (to == 1 ? counts[0] : 0);
      memcpy((back ? ranks[to].returned : ranks[to].gathered) + at, source, counts[to]);
      at += counts[to];
    }
  }
}

#define EACH(call)                                 \
  for (rank* r = ranks; r != ranks + RANKS; ++r) { \
    CHECK_OK(call);                                \
  }

static void take_step(rank* ranks) {
  EACH(trasmuon_sharded_step_momentum(r->step, &r->gradient, 1, r->sums, r->sum_count, NULL))
  all_reduce(ranks[0].sums, ranks[1].sums, ranks[0].sum_count);
  EACH(trasmuon_sharded_step_pack(r->step, r->sums, r->sum_count, r->rows, r->row_bytes, NULL))
  all_to_all(ranks, 0);
  EACH(trasmuon_sharded_step_orthogonalize(r->step, r->gathered, r->gathered_bytes, r->directions, r->direction_bytes,
                                           NULL))
  all_to_all(ranks, 1);
  EACH(trasmuon_sharded_step_row_scale(r->step, r->returned, r->returned_bytes, r->norms, r->norm_count, NULL))
  all_reduce(ranks[0].norms, ranks[1].norms, ranks[0].norm_count);
  EACH(trasmuon_sharded_step_apply(r->step, r->norms, r->norm_count, NULL))
}

/* Steps the ranks and, in `whole`, one optimizer over all rows. */
static void compare_with_whole(const char* rule, rank* ranks) {
  float weight[ROWS * COLS], gradient[ROWS * COLS];
  fill(weight, ROWS * COLS, 1);
  for (int r = 0; r < RANKS; ++r) start(&ranks[r], rule, r, weight, gradient);
  trasmuon_optimizer* whole = build_rule(rule, weight, 0, ROWS, 0);
  const trasmuon_tensor whole_gradient = matrix_f32(gradient, ROWS, COLS);
  for (int step = 0; step < STEPS; ++step) {
    fill(gradient, ROWS * COLS, (unsigned)step);
    take_step(ranks);
    CHECK_OK(trasmuon_optimizer_step(whole, &whole_gradient, 1));
  }
  for (int i = 0; i < ROWS * COLS; ++i) {
    const float sharded = i < FIRST * COLS ? ranks[0].weight[i] : ranks[1].weight[i - FIRST * COLS];
    const float difference = sharded - weight[i];
    CHECK(difference < 1e-6f && difference > -1e-6f);
  }
  trasmuon_optimizer_destroy(whole);
}

static void test_steps(void) {
  rank ranks[RANKS];
  float gradient[ROWS * COLS];
  int phase = -1, owners[1] = {-1}, idle = -1;
  int64_t applied = -1;
  double balance = 0;
  size_t count = 0;
  compare_with_whole("dion", ranks);
  CHECK(ranks[0].norm_count == 0 && ranks[0].returned_bytes > ranks[0].row_bytes);
  for (int r = 0; r < RANKS; ++r) stop(&ranks[r]);

  compare_with_whole("trasmuon", ranks);
  CHECK_OK(trasmuon_sharded_step_ownership(ranks[0].step, &count, owners, &balance, &idle));
  CHECK(count == 1 && owners[0] == 0 && balance == 2 && idle == 1);
  CHECK_OK(trasmuon_sharded_step_phase(ranks[0].step, &phase, &applied));
  CHECK(phase == TRASMUON_PHASE_MOMENTUM && applied == STEPS);

  rank* r = &ranks[0];
  fill(gradient, ROWS * COLS, 2);
  r->gradient = matrix_f32(gradient, FIRST, COLS);
  CHECK_OK(trasmuon_sharded_step_momentum(r->step, &r->gradient, 1, r->sums, r->sum_count, NULL));
  CHECK_OK(trasmuon_sharded_step_phase(r->step, &phase, NULL));
  CHECK(phase == TRASMUON_PHASE_PACK);
  CHECK_REFUSED(trasmuon_sharded_step_apply(r->step, r->norms, r->norm_count, NULL),
                "sharded step: apply was called, but pack is next; cancel gives up the step");
  CHECK_REFUSED(trasmuon_sharded_step_pack(r->step, r->sums, 3, r->rows, r->row_bytes, NULL),
                "sharded step: pack: sums must have 7 doubles, got 3");
  CHECK_OK(trasmuon_sharded_step_cancel(r->step));
  CHECK_OK(trasmuon_sharded_step_phase(r->step, &phase, NULL));
  CHECK(phase == TRASMUON_PHASE_MOMENTUM);
  for (int k = 0; k < RANKS; ++k) stop(&ranks[k]);
}

static void test_empty_shard(void) {
  const int64_t counts[RANKS] = {ROWS, 0};
  trasmuon_optimizer* optimizer = build(NULL, ROWS, 0, ROWS);
  trasmuon_sharded_step* step = NULL;
  const trasmuon_tensor gradient = matrix_f32(NULL, 0, COLS);
  double sums[COLS + 2];
  CHECK_OK(trasmuon_sharded_step_create(optimizer, 1, RANKS, counts, RANKS, TRASMUON_BF16, &step));
  CHECK_OK(trasmuon_sharded_step_momentum(step, &gradient, 1, sums, COLS + 2, NULL));
  for (int i = 0; i < COLS + 2; ++i) CHECK(sums[i] == 0);
  trasmuon_sharded_step_destroy(step);
  trasmuon_optimizer_destroy(optimizer);
}

static void test_functions_of_ranks(void) {
  const double costs[] = {3, 3, 2, 2, 2};
  int owners[5] = {-1, -1, -1, -1, -1}, idle = -1;
  double balance = 0, cost = 0;
  uint64_t one = 0, other = 0;
  const char* text = NULL;
  CHECK_OK(trasmuon_assign_owners(costs, 5, 2, owners, &balance, &idle));
  CHECK(balance == 1 && idle == 0 && owners[0] == owners[1] && owners[2] == owners[3] && owners[0] != owners[2]);
  CHECK_REFUSED(trasmuon_assign_owners(costs, 5, 0, owners, NULL, NULL), "assign_owners: ranks must be > 0, got 0");
  CHECK_OK(trasmuon_iteration_cost(10, 10, 1, &cost));
  CHECK(cost == 2000);
  CHECK_OK(trasmuon_fingerprint("lr 1\n", &one));
  CHECK_OK(trasmuon_fingerprint("lr 2\n", &other));
  CHECK(one != other);
  CHECK_OK(trasmuon_first_difference("lr 1\n", "lr 2\n", &text));
  CHECK_TEXT(text, "line 1: 'lr 1' and 'lr 2'");

  float weight[ROWS * COLS] = {0};
  trasmuon_optimizer* optimizer = build(weight, 0, ROWS, 0);
  CHECK_OK(trasmuon_optimizer_describe_table(optimizer, &text));
  CHECK(strstr(text, "group 0: trasmuon\ngroup 0: lr = 0.001\n") != NULL);
  CHECK(strstr(text, "parameter 0 of group 0: 'w' f32 [6, 5] layout automatic on cpu, state momentum:f32") != NULL);
  trasmuon_optimizer_destroy(optimizer);
}

static void test_nulls(void) {
  float weight[ROWS * COLS] = {0};
  const int64_t rows = ROWS;
  trasmuon_optimizer* optimizer = build(weight, 0, ROWS, 0);
  trasmuon_sharded_step* step = NULL;
  const char* text = NULL;
  uint64_t hash = 0;
#define NULL_IN(function, arguments, name) CHECK_NULL(function arguments, #function ": " name " must not be NULL")
  NULL_IN(trasmuon_sharded_step_create, (NULL, 0, 1, &rows, 1, TRASMUON_F32, &step), "optimizer");
  NULL_IN(trasmuon_sharded_step_create, (optimizer, 0, 1, NULL, 1, TRASMUON_F32, &step), "rows");
  NULL_IN(trasmuon_sharded_step_create, (optimizer, 0, 1, &rows, 1, TRASMUON_F32, NULL), "step");
  CHECK_OK(trasmuon_sharded_step_create(optimizer, 0, 1, &rows, 1, TRASMUON_F32, &step));
  NULL_IN(trasmuon_sharded_step_sizes, (NULL, NULL, NULL, NULL, NULL, NULL, NULL), "step");
  NULL_IN(trasmuon_sharded_step_ownership, (NULL, NULL, NULL, NULL, NULL), "step");
  NULL_IN(trasmuon_sharded_step_momentum, (NULL, NULL, 0, NULL, 0, NULL), "step");
  NULL_IN(trasmuon_sharded_step_momentum, (step, NULL, 1, NULL, 0, NULL), "gradients");
  NULL_IN(trasmuon_sharded_step_pack, (NULL, NULL, 0, NULL, 0, NULL), "step");
  NULL_IN(trasmuon_sharded_step_pack, (step, NULL, 1, NULL, 0, NULL), "sums");
  NULL_IN(trasmuon_sharded_step_orthogonalize, (NULL, NULL, 0, NULL, 0, NULL), "step");
  NULL_IN(trasmuon_sharded_step_row_scale, (NULL, NULL, 0, NULL, 0, NULL), "step");
  NULL_IN(trasmuon_sharded_step_apply, (NULL, NULL, 0, NULL), "step");
  NULL_IN(trasmuon_sharded_step_phase, (NULL, NULL, NULL), "step");
  NULL_IN(trasmuon_sharded_step_cancel, (NULL), "step");
  NULL_IN(trasmuon_assign_owners, (NULL, 1, 1, NULL, NULL, NULL), "owners");
  NULL_IN(trasmuon_iteration_cost, (1, 1, 1, NULL), "cost");
  NULL_IN(trasmuon_optimizer_describe_table, (NULL, &text), "optimizer");
  NULL_IN(trasmuon_optimizer_describe_table, (optimizer, NULL), "text");
  NULL_IN(trasmuon_fingerprint, (NULL, &hash), "description");
  NULL_IN(trasmuon_first_difference, (NULL, "", &text), "one");
  NULL_IN(trasmuon_first_difference, ("", NULL, &text), "other");
  trasmuon_sharded_step_destroy(NULL);
  trasmuon_sharded_step_destroy(step);
  trasmuon_optimizer_destroy(optimizer);
}

void test_sharded_step(void) {
  test_steps();
  test_empty_shard();
  test_functions_of_ranks();
  test_nulls();
}
