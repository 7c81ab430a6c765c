/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <pthread.h>

#include "check.h"
#include "tensors.h"

static void test_orthogonalize(void) {
  float in[12], out[12];
  const trasmuon_tensor source = matrix_f32(in, 3, 4), target = matrix_f32(out, 3, 4);
  trasmuon_tensor wrong = matrix_f32(out, 4, 3);
  fill(in, 12, 5);
  CHECK_OK(trasmuon_orthogonalize(&source, &target, 12, "polar_express", TRASMUON_FORM_STANDARD, 1e-7));
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      double dot = 0;
      for (int k = 0; k < 4; ++k) dot += (double)out[4 * i + k] * out[4 * j + k];
      CHECK(fabs(dot - (i == j)) < 0.05);
    }
  }
  /* 0 steps only normalise, whatever the form. */
  CHECK_OK(trasmuon_orthogonalize(&source, &target, 0, "keller", TRASMUON_FORM_AUTOMATIC, 0));
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += (double)out[i] * out[i];
  CHECK(fabs(sum - 1) < 1e-6);

  CHECK_REFUSED(trasmuon_orthogonalize(&source, &wrong, 5, "keller", 0, 1e-7),
                "orthogonalize: out's shape must be [3, 4], got [4, 3]");
  CHECK_REFUSED(trasmuon_orthogonalize(&source, &target, -1, "keller", 0, 1e-7),
                "orthogonalize: steps must be in [0, 100], got -1");
  CHECK_REFUSED(trasmuon_orthogonalize(&source, &target, 5, "keller", 3, 1e-7),
                "orthogonalize: form must be in [0, 2], got 3");
  CHECK(trasmuon_orthogonalize(&source, &target, 5, "nobody", 0, 1e-7) == TRASMUON_ERROR_REFUSED);
  CHECK_OK(trasmuon_orthogonalize_on(&source, &target, 5, "keller", 0, 1e-7, "f32", TRASMUON_CPU, NULL));
  CHECK_OK(trasmuon_orthogonalize_on(&source, &target, 5, "keller", 0, 1e-7, "bf16", TRASMUON_CPU, NULL));
  CHECK_REFUSED(trasmuon_orthogonalize_on(&source, &target, 5, "keller", 0, 1e-7, "f16", TRASMUON_CPU, NULL),
                "orthogonalize: precision must be automatic, f32 or bf16 on the CPU, got 'f16'");
  wrong.rank = 9;
  CHECK_REFUSED(trasmuon_orthogonalize(&source, &wrong, 5, "keller", 0, 1e-7),
                "orthogonalize: out: rank must be in [0, 5], got 9");
}

static void test_classify(void) {
  trasmuon_named_shape parameters[] = {
      {"wte.weight", 2, {100, 8}}, {"h.0.attn.weight", 2, {24, 8}}, {"ln_f.weight", 1, {8}}};
  trasmuon_family_override override = {"wte.*", TRASMUON_FAMILY_MATRIX};
  int families[3] = {-1, -1, -1};
  const char* text = NULL;
  CHECK_OK(trasmuon_classify(parameters, 3, NULL, 0, families, &text));
  CHECK(families[0] == TRASMUON_FAMILY_ADAMW && families[1] == TRASMUON_FAMILY_MATRIX &&
        families[2] == TRASMUON_FAMILY_ADAMW);
  CHECK(strstr(text, "wte.weight       [100, 8]           800  adamw   embedding\n") != NULL);
  CHECK_OK(trasmuon_classify(parameters, 3, &override, 1, families, NULL));
  CHECK(families[0] == TRASMUON_FAMILY_MATRIX);
  CHECK_OK(trasmuon_classify_preset("default", parameters, 3, NULL, 0, families, NULL));
  CHECK(families[0] == TRASMUON_FAMILY_ADAMW);
  CHECK_OK(trasmuon_classify_preset("released", parameters, 3, NULL, 0, families, &text));
  CHECK(families[0] == TRASMUON_FAMILY_MATRIX && families[2] == TRASMUON_FAMILY_ADAMW);
  CHECK(strstr(text, "two dimensions") != NULL);
  CHECK_REFUSED(trasmuon_classify_preset("paper", parameters, 3, NULL, 0, families, NULL),
                "classify: preset must be one of default, released, got 'paper'");

  families[0] = -1;
  override.family = 2;
  CHECK_REFUSED(trasmuon_classify(parameters, 3, &override, 1, families, NULL),
                "override 'wte.*': family must be in [0, 1], got 2");
  override.family = TRASMUON_FAMILY_ADAMW;
  override.pattern = "wpe.*";
  CHECK_REFUSED(trasmuon_classify(parameters, 3, &override, 1, families, NULL),
                "override 'wpe.*': must match a parameter; patterns match whole names");
  parameters[1].rank = 7;
  CHECK_REFUSED(trasmuon_classify(parameters, 3, NULL, 0, families, NULL),
                "parameter 'h.0.attn.weight': rank must be in [0, 5], got 7");
  parameters[1].name = NULL;
  CHECK_NULL(trasmuon_classify(parameters, 3, NULL, 0, families, NULL),
             "trasmuon_classify: parameters[].name must not be NULL");
  CHECK_REFUSED(trasmuon_classify(NULL, 0, NULL, 0, families, NULL), "classify: parameters must not be empty");
  CHECK(families[0] == -1);
}

static void test_num_threads(void) {
  int before = 0, threads = 0;
  CHECK_OK(trasmuon_get_num_threads(&before));
  CHECK(before > 0);
  CHECK_OK(trasmuon_set_num_threads(3));
  CHECK_OK(trasmuon_get_num_threads(&threads));
  CHECK(threads == 3);
  CHECK(trasmuon_set_num_threads(0) == TRASMUON_ERROR_REFUSED);
  CHECK_OK(trasmuon_get_num_threads(&threads));
  CHECK(threads == 3);
  CHECK_OK(trasmuon_set_num_threads(before));
}

static void* fail_elsewhere(void* unused) {
  (void)unused;
  CHECK_TEXT(trasmuon_last_error(), ""); /* this thread has not failed yet */
  CHECK_NULL(trasmuon_get_num_threads(NULL), "trasmuon_get_num_threads: threads must not be NULL");
  return NULL;
}

static void test_errors_are_per_thread(void) {
  pthread_t thread; /* ThreadSanitizer does not know thrd_create */
  CHECK_REFUSED(trasmuon_classify(NULL, 0, NULL, 0, &(int){0}, NULL), "classify: parameters must not be empty");
  CHECK(pthread_create(&thread, NULL, fail_elsewhere, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK_TEXT(trasmuon_last_error(), "classify: parameters must not be empty");
}

void test_functions(void) {
  test_orthogonalize();
  test_classify();
  test_num_threads();
  test_errors_are_per_thread();
}
