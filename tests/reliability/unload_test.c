/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unload_test LIBTRASMUON [LIBRARY...]: loads, steps with several threads, closes, again and again, as a program with
 * plugins does. The threads of the pool still run library code then, so the libraries must stay loaded.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "c_api/tensors.h"

enum { kRounds = 200, kSize = 64, kMatrices = 3, kThreads = 3 };

static void require(int condition, const char* what) {
  if (condition) return;
  const char* reason = dlerror();
  fprintf(stderr, "unload_test: %s%s%s\n", what, reason ? ": " : "", reason ? reason : "");
  exit(1);
}

/* A function of the library, with its type from c_api.h. POSIX allows the cast that ISO C does not. */
#define FUNCTION(library, name)              \
  __typeof__(&name) name##_;                 \
  *(void**)&name##_ = dlsym(library, #name); \
  require(name##_ != NULL, "no " #name)

static void step_once(void* library) {
  FUNCTION(library, trasmuon_set_num_threads);
  FUNCTION(library, trasmuon_options_create);
  FUNCTION(library, trasmuon_options_destroy);
  FUNCTION(library, trasmuon_builder_create);
  FUNCTION(library, trasmuon_builder_destroy);
  FUNCTION(library, trasmuon_builder_add_group);
  FUNCTION(library, trasmuon_builder_add_parameter);
  FUNCTION(library, trasmuon_builder_finish);
  FUNCTION(library, trasmuon_optimizer_step);
  FUNCTION(library, trasmuon_optimizer_destroy);

  static const char* const names[kMatrices] = {"a", "b", "c"};
  static float weights[kMatrices][kSize * kSize], gradient[kSize * kSize];
  fill(gradient, kSize * kSize, 1);
  trasmuon_options* options = NULL;
  trasmuon_builder* builder = NULL;
  trasmuon_optimizer* optimizer = NULL;
  trasmuon_tensor gradients[kMatrices];
  int failed = trasmuon_set_num_threads_(kThreads);
  failed |= trasmuon_options_create_("trasmuon", &options);
  failed |= trasmuon_builder_create_(&builder);
  failed |= trasmuon_builder_add_group_(builder, options, NULL);
  for (int i = 0; i < kMatrices; ++i) {
    const trasmuon_parameter p = parameter(names[i], matrix_f32(weights[i], kSize, kSize));
    gradients[i] = matrix_f32(gradient, kSize, kSize);
    failed |= trasmuon_builder_add_parameter_(builder, &p, NULL);
  }
  failed |= trasmuon_builder_finish_(builder, &optimizer);
  failed |= trasmuon_optimizer_step_(optimizer, gradients, kMatrices);
  require(!failed, "a step failed");
  trasmuon_optimizer_destroy_(optimizer);
  trasmuon_builder_destroy_(builder);
  trasmuon_options_destroy_(options);
}

static int thread_count(void) {
  int count = -2; /* "." and ".." */
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == NULL) return kThreads; /* not Linux */
  while (readdir(tasks) != NULL) ++count;
  closedir(tasks);
  return count;
}

int main(int argc, char** argv) {
  require(argc >= 2, "no library given");
  alarm(120);
  int threads = 0;
  for (int round = 0; round < kRounds; ++round) {
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    require(library != NULL, "cannot load");
    step_once(library);
    require(dlclose(library) == 0, "cannot close");
    if (round == 0) threads = thread_count();
    usleep(round % 10 * 100); /* the workers still spin, or sleep already */
  }
  require(thread_count() == threads, "threads were left behind by each round");
  for (int i = 1; i < argc; ++i) {
    void* library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    require(library != NULL && dlclose(library) == 0, "cannot load or close");
    require(dlopen(argv[i], RTLD_NOW | RTLD_NOLOAD) != NULL, "was unloaded");
  }
  return 0;
}
