/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "tensors.h"

enum { kRows = 9, kCols = 16, kMatrix = kRows * kCols, kMaxLoans = 16 };

/* State lent by the caller, as an adapter of a framework does it. */
typedef struct {
  int count;
  int refuse_from; /* the first loan that is refused */
  struct {
    size_t index;
    char name[32];
    trasmuon_tensor tensor;
  } loans[kMaxLoans];
} Lender;

static void* lend(void* user, size_t index, const char* name, const trasmuon_tensor* spec) {
  Lender* lender = user;
  size_t bytes = spec->dtype == TRASMUON_F32 ? 4 : 8; /* the state of an f32 weight has no smaller types */
  CHECK(spec->data == NULL);
  CHECK(lender->count < kMaxLoans);
  if (lender->count >= lender->refuse_from || lender->count >= kMaxLoans) return NULL;
  for (int i = 0; i < spec->rank; ++i) bytes *= (size_t)spec->shape[i];
  lender->loans[lender->count].index = index;
  snprintf(lender->loans[lender->count].name, sizeof lender->loans[0].name, "%s", name);
  lender->loans[lender->count].tensor = *spec;
  lender->loans[lender->count].tensor.data = malloc(bytes);
  memset(lender->loans[lender->count].tensor.data, 0x5a, bytes); /* the optimizer must not rely on zeros */
  return lender->loans[lender->count++].tensor.data;
}

static void take_back(Lender* lender) {
  for (int i = 0; i < lender->count; ++i) free(lender->loans[i].tensor.data);
}

static trasmuon_optimizer* make_optimizer(float* weight, Lender* lender, int* status) {
  trasmuon_options* options = NULL;
  trasmuon_builder* builder = NULL;
  trasmuon_optimizer* optimizer = NULL;
  const trasmuon_parameter p = parameter("weight", matrix_f32(weight, kRows, kCols));
  fill(weight, kMatrix, 7);
  CHECK_OK(trasmuon_options_create("trasmuon", &options));
  CHECK_OK(trasmuon_builder_create(&builder));
  CHECK_OK(trasmuon_builder_add_group(builder, options, NULL));
  CHECK_OK(trasmuon_builder_add_parameter(builder, &p, NULL));
  if (lender != NULL) CHECK_OK(trasmuon_builder_set_state(builder, lend, lender));
  *status = trasmuon_builder_finish(builder, &optimizer);
  trasmuon_builder_destroy(builder);
  trasmuon_options_destroy(options);
  return optimizer;
}

static void step(trasmuon_optimizer* optimizer, unsigned seed) {
  float gradient[kMatrix];
  const trasmuon_tensor tensor = matrix_f32(gradient, kRows, kCols);
  fill(gradient, kMatrix, seed);
  CHECK_OK(trasmuon_optimizer_step(optimizer, &tensor, 1));
}

static void test_lent_state(void) {
  float own_weight[kMatrix], lent_weight[kMatrix];
  Lender lender = {.refuse_from = kMaxLoans};
  int status = 0;
  size_t count = 0;
  trasmuon_optimizer* own = make_optimizer(own_weight, NULL, &status);
  CHECK(status == TRASMUON_OK);
  trasmuon_optimizer* lent = make_optimizer(lent_weight, &lender, &status);
  CHECK(status == TRASMUON_OK);
  for (unsigned seed = 11; seed < 15; ++seed) {
    step(own, seed);
    step(lent, seed);
  }
  CHECK(memcmp(own_weight, lent_weight, sizeof own_weight) == 0);

  CHECK_OK(trasmuon_optimizer_state_count(lent, 0, &count));
  CHECK(count > 0 && count == (size_t)lender.count);
  for (size_t i = 0; i < count; ++i) {
    const char* name = NULL;
    trasmuon_tensor tensor;
    CHECK_OK(trasmuon_optimizer_state(lent, 0, i, &name, &tensor));
    CHECK_TEXT(name, lender.loans[i].name);
    CHECK(lender.loans[i].index == 0);
    CHECK(tensor.data == lender.loans[i].tensor.data);
    CHECK(tensor.dtype == lender.loans[i].tensor.dtype && tensor.rank == lender.loans[i].tensor.rank);
    CHECK(memcmp(tensor.shape, lender.loans[i].tensor.shape, sizeof tensor.shape) == 0);
  }
  trasmuon_optimizer_destroy(own);
  trasmuon_optimizer_destroy(lent);
  take_back(&lender);
}

static void test_loan_refused(void) {
  float weight[kMatrix];
  Lender lender = {.refuse_from = 1};
  int status = 0;
  trasmuon_optimizer* optimizer = make_optimizer(weight, &lender, &status);
  CHECK(status == TRASMUON_ERROR_REFUSED);
  CHECK(optimizer == NULL);
  CHECK(strstr(trasmuon_last_error(), "parameter 'weight': the state callback returned no memory for '") != NULL);
  take_back(&lender);
}

static void test_enumeration(void) {
  float weight[kMatrix];
  int status = 0, found = 0;
  size_t count = 0;
  trasmuon_optimizer* optimizer = make_optimizer(weight, NULL, &status);
  step(optimizer, 21);
  CHECK_OK(trasmuon_optimizer_state_count(optimizer, 0, &count));
  for (size_t i = 0; i < count; ++i) {
    const char* name = NULL;
    trasmuon_tensor tensor;
    CHECK_OK(trasmuon_optimizer_state(optimizer, 0, i, &name, &tensor));
    CHECK_OK(trasmuon_optimizer_state(optimizer, 0, i, NULL, NULL));
    if (strcmp(name, "momentum") != 0) continue;
    found = 1;
    float gradient[kMatrix];
    fill(gradient, kMatrix, 21);
    CHECK(tensor.dtype == TRASMUON_F32 && tensor.rank == 2 && tensor.shape[0] == kRows && tensor.shape[1] == kCols);
    const float first = ((const float*)tensor.data)[0], expected = 0.05f * gradient[0];
    CHECK(first - expected < 1e-6f && expected - first < 1e-6f);
  }
  CHECK(found);
  char message[64];
  snprintf(message, sizeof message, "state index must be < %zu, got %zu", count, count);
  CHECK_REFUSED(trasmuon_optimizer_state(optimizer, 0, count, NULL, NULL), message);
  CHECK_REFUSED(trasmuon_optimizer_state_count(optimizer, 1, &count), "parameter index must be < 1, got 1");
  trasmuon_optimizer_destroy(optimizer);
}

static void test_master_weights(void) {
  uint16_t weight[6] = {0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0, 0x40c0}; /* 1 ... 6 in bf16 */
  trasmuon_parameter p = parameter("weight", matrix_f32(NULL, 2, 3));
  trasmuon_options* options = NULL;
  trasmuon_builder* builder = NULL;
  trasmuon_optimizer* optimizer = NULL;
  const char* name = NULL;
  trasmuon_tensor master;
  size_t count = 0;
  p.weight.data = weight;
  p.weight.dtype = TRASMUON_BF16;
  CHECK_OK(trasmuon_options_create("adamw", &options));
  CHECK_OK(trasmuon_builder_create(&builder));
  CHECK_OK(trasmuon_builder_set_master_weights(builder, 1));
  CHECK_OK(trasmuon_builder_add_group(builder, options, NULL));
  CHECK_OK(trasmuon_builder_add_parameter(builder, &p, NULL));
  CHECK_OK(trasmuon_builder_finish(builder, &optimizer));
  CHECK_OK(trasmuon_optimizer_state_count(optimizer, 0, &count));
  CHECK_OK(trasmuon_optimizer_state(optimizer, 0, count - 1, &name, &master));
  CHECK_TEXT(name, "master");
  CHECK(master.dtype == TRASMUON_F32 && ((const float*)master.data)[5] == 6);
  weight[5] = 0x4040;
  CHECK_OK(trasmuon_optimizer_refresh_master(optimizer, 0));
  CHECK(((const float*)master.data)[5] == 3);
  CHECK_REFUSED(trasmuon_optimizer_refresh_master(optimizer, 1), "parameter index must be < 1, got 1");
  trasmuon_optimizer_destroy(optimizer);
  trasmuon_builder_destroy(builder);
  trasmuon_options_destroy(options);
}

static void test_checkpoint(void) {
  const char* path = "c_api_test.safetensors";
  float weight[kMatrix], again[kMatrix];
  int status = 0;
  trasmuon_optimizer* optimizer = make_optimizer(weight, NULL, &status);
  trasmuon_optimizer* restored = make_optimizer(again, NULL, &status);
  step(optimizer, 31);
  CHECK_OK(trasmuon_optimizer_save(optimizer, path));
  memcpy(again, weight, sizeof weight);
  CHECK_OK(trasmuon_optimizer_load(restored, path));
  step(optimizer, 32);
  step(restored, 32);
  CHECK(memcmp(weight, again, sizeof weight) == 0);

  CHECK(remove(path) == 0);
  CHECK(trasmuon_optimizer_load(restored, path) == TRASMUON_ERROR_REFUSED);
  CHECK(strstr(trasmuon_last_error(), path) != NULL);
  CHECK(trasmuon_optimizer_save(optimizer, "no/such/folder/file") == TRASMUON_ERROR_REFUSED);
  CHECK(strstr(trasmuon_last_error(), "no/such/folder/file") != NULL);
  trasmuon_optimizer_destroy(optimizer);
  trasmuon_optimizer_destroy(restored);
}

void test_state(void) {
  test_lent_state();
  test_loan_refused();
  test_enumeration();
  test_master_weights();
  test_checkpoint();
}
