// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trasmuon/export.h"

namespace trasmuon {

/// Sets the number of threads of the CPU backend, for the whole process. The default is the
/// environment variable TRASMUON_NUM_THREADS or else the number of hardware threads. Results do
/// not depend on it, and where the system refuses threads there are fewer. May be called at any time, also while other
/// threads are in a step.
///
/// fork(): the child has none of the threads and starts its own when it first steps. It can step, set the number of
/// threads, save and load. It must not use, nor destroy, an optimizer that another thread was using at the moment of
/// the fork. After a fork in a signal handler that interrupted a step, the child may only exec or _exit. CUDA does not
/// work in a child of a process that has used it.
///
/// dlclose() leaves the library loaded, because its threads still run. exit() does not wait for them.
TRASMUON_API void set_num_threads(int threads);
TRASMUON_API int num_threads();

}  // namespace trasmuon
