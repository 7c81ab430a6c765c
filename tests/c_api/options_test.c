/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

static void test_presets(void) {
  trasmuon_options* options = NULL;
  const char* text = NULL;
  CHECK_OK(trasmuon_options_create_preset("trasmuon", "released", &options));
  CHECK_OK(trasmuon_options_get(options, "reference_start", &text));
  CHECK_TEXT(text, "first");
  trasmuon_options_destroy(options);
  CHECK_OK(trasmuon_options_create_preset("adamw", "released", &options));
  CHECK_OK(trasmuon_options_get(options, "beta1", &text));
  CHECK_TEXT(text, "0.95");
  trasmuon_options_destroy(options);
  CHECK_OK(trasmuon_options_create_preset("muon", "default", &options));
  trasmuon_options_destroy(options);
  options = NULL;
  CHECK_REFUSED(trasmuon_options_create_preset("trasmuon", "letter", &options),
                "trasmuon: preset must be one of default, paper, released, got 'letter'");
  CHECK_REFUSED(trasmuon_options_create_preset("muon", "paper", &options), "muon: preset must be default, got 'paper'");
  CHECK(options == NULL);
}

static void test_values(void) {
  trasmuon_options* options = NULL;
  const char* text = NULL;
  double value = -1;
  CHECK_OK(trasmuon_options_create("trasmuon", &options));
  CHECK_OK(trasmuon_options_rule(options, &text));
  CHECK_TEXT(text, "trasmuon");

  CHECK_OK(trasmuon_options_get(options, "lr", &text));
  CHECK_TEXT(text, "0.001");
  CHECK_OK(trasmuon_options_set(options, "clip", "hard"));
  CHECK_OK(trasmuon_options_get(options, "clip", &text));
  CHECK_TEXT(text, "hard");
  CHECK_OK(trasmuon_options_set_number(options, "lr", 0.1 + 0.2));
  CHECK_OK(trasmuon_options_get_number(options, "lr", &value));
  CHECK(value == 0.1 + 0.2);
  CHECK_OK(trasmuon_options_set_number(options, "ns_steps", 7));
  CHECK_OK(trasmuon_options_get(options, "ns_steps", &text));
  CHECK_TEXT(text, "7");

  CHECK_OK(trasmuon_options_set_number(options, "nesterov", 1));
  CHECK_OK(trasmuon_options_get(options, "nesterov", &text));
  CHECK_TEXT(text, "true");
  CHECK_OK(trasmuon_options_get_number(options, "nesterov", &value));
  CHECK(value == 1);
  CHECK_OK(trasmuon_options_set_number(options, "nesterov", 0));
  CHECK_OK(trasmuon_options_get_number(options, "nesterov", &value));
  CHECK(value == 0);

  CHECK_REFUSED(trasmuon_options_get_number(options, "gamma", &value), "trasmuon: gamma must be a number, got 'lr'");
  CHECK_REFUSED(trasmuon_options_get_number(options, "clip", &value), "trasmuon: clip must be a number, got 'hard'");
  CHECK(value == 0);
  CHECK_OK(trasmuon_options_set_number(options, "gamma", 0.5));
  CHECK_OK(trasmuon_options_get_number(options, "gamma", &value));
  CHECK(value == 0.5);
  trasmuon_options_destroy(options);
}

static void test_refusals(void) {
  trasmuon_options* options = NULL;
  const char* text = NULL;
  CHECK_REFUSED(trasmuon_options_create("sgd", &options),
                "rule must be one of trasmuon, normuon, muon, dion, adamw, got 'sgd'");
  CHECK(options == NULL);
  CHECK_OK(trasmuon_options_create("trasmuon", &options));
  CHECK_REFUSED(trasmuon_options_set(options, "alpha", "-1"), "trasmuon: alpha must be > 0, got -1");
  CHECK_REFUSED(trasmuon_options_set_number(options, "alpha", -1), "trasmuon: alpha must be > 0, got -1");
  CHECK_REFUSED(trasmuon_options_set_number(options, "ns_steps", 2.5),
                "trasmuon: ns_steps must be a whole number, got '2.5'");
  CHECK_REFUSED(trasmuon_options_set_number(options, "nesterov", 2),
                "trasmuon: nesterov must be true or false, got '2'");
  CHECK_REFUSED(trasmuon_options_set(options, "clip", "gentle"),
                "trasmuon: clip must be one of none, soft, hard, got 'gentle'");
  CHECK_REFUSED(trasmuon_options_set(options, "speed", "1"), "trasmuon: has no field 'speed'");
  CHECK_REFUSED(trasmuon_options_get(options, "speed", &text), "trasmuon: has no field 'speed'");
  CHECK(text == NULL);
  /* A success leaves the text of the last failure. */
  CHECK_OK(trasmuon_options_get(options, "alpha", &text));
  CHECK_TEXT(text, "1");
  CHECK_TEXT(trasmuon_last_error(), "trasmuon: has no field 'speed'");
  trasmuon_options_destroy(options);
}

static void test_fields(void) {
  static const char* const expected[] = {"lr", "weight_decay", "beta1", "beta2", "eps"};
  trasmuon_options* options = NULL;
  size_t count = 0;
  const char* text = NULL;
  CHECK_OK(trasmuon_options_create("adamw", &options));
  CHECK_OK(trasmuon_options_field_count(options, &count));
  CHECK(count == sizeof expected / sizeof *expected);
  for (size_t i = 0; i < count; ++i) {
    CHECK_OK(trasmuon_options_field(options, i, &text));
    CHECK_TEXT(text, expected[i]);
  }
  CHECK_REFUSED(trasmuon_options_field(options, count, &text), "adamw: field index must be < 5, got 5");

  CHECK_OK(trasmuon_options_describe(options, &text));
  CHECK(strncmp(text, "lr ", 3) == 0);
  CHECK(strstr(text, "weight_decay") != NULL);
  CHECK(strstr(text, "decay of the second moment") != NULL);
  trasmuon_options_destroy(options);
}

void test_options(void) {
  test_presets();
  test_values();
  test_refusals();
  test_fields();
  trasmuon_options_destroy(NULL);
}
