// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include "cuda/runtime/check.h"

namespace trasmuon::cuda {

/// A stream of our own.
class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { (void)cudaStreamDestroy(stream_); }
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A second stream for work that can run at the same time as the caller's stream. Captured together with it.
class SideStream {
 public:
  SideStream() {
    check(cudaEventCreateWithFlags(&forked_, cudaEventDisableTiming), "cudaEventCreate");
    check(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming), "cudaEventCreate");
  }
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;
  ~SideStream() {
    (void)cudaEventDestroy(forked_);
    (void)cudaEventDestroy(done_);
  }

  /// Calls body(side stream). What it enqueues waits for what is on `stream` now, but not for what follows there.
  template <class Body>
  void fork(cudaStream_t stream, Body&& body) {
    check(cudaEventRecord(forked_, stream), "cudaEventRecord");
    check(cudaStreamWaitEvent(side_.get(), forked_), "cudaStreamWaitEvent");
    body(side_.get());
    check(cudaEventRecord(done_, side_.get()), "cudaEventRecord");
  }
  /// Lets what follows on `stream` wait for the work of the fork.
  void join(cudaStream_t stream) { check(cudaStreamWaitEvent(stream, done_), "cudaStreamWaitEvent"); }

 private:
  Stream side_;
  cudaEvent_t forked_ = nullptr, done_ = nullptr;
};

}  // namespace trasmuon::cuda
