// SPDX-License-Identifier: Apache-2.0
//
// Streams, events and graphs. A stream has nothing to wait for; what is captured becomes a list that is replayed in
// the order in which it was enqueued or, backwards, with the work of forked streams as late as it may run.
#include <algorithm>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "runtime.h"

/// How much of what each captured stream was given comes before a point.
using Progress = std::map<const CUstream_st*, std::size_t>;
struct Node {
  std::function<void()> run;
  const CUstream_st* stream;
  Progress before;
};
struct Work {
  std::vector<Node> nodes = {};  ///< in the order in which they were enqueued
  const CUstream_st* origin = nullptr;
};

struct Capture {
  const CUstream_st* origin;
  cudaStreamCaptureMode mode;
  std::thread::id thread = std::this_thread::get_id();
  bool spoilt = false, ended = false;
  std::vector<Node> nodes = {};
  Progress enqueued = {};
};

struct CUstream_st {
  std::shared_ptr<Capture> capture;
  Progress seen;
};
struct CUevent_st {
  std::shared_ptr<Capture> capture;
  Progress seen;
};
struct CUgraph_st {
  Work work;
};
struct CUgraphExec_st {
  Work work;
};

namespace host_cuda {
namespace {

std::vector<std::shared_ptr<Capture>> captures;  // under way
thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

CUstream_st& get(cudaStream_t stream) {
  static CUstream_st default_stream;
  CUstream_st& found = stream == nullptr ? default_stream : *stream;
  if (found.capture != nullptr && found.capture->ended) found = {};
  return found;
}

bool is_own(const Capture& capture) { return capture.thread == std::this_thread::get_id(); }

template <class Forbids>
cudaError_t refuse(Forbids&& forbids) {
  cudaError_t error = cudaSuccess;
  for (const auto& capture : captures) {
    if (!forbids(*capture)) continue;
    capture->spoilt = true;
    error = cudaErrorStreamCaptureUnsupported;
  }
  return error;
}

void add(CUstream_st& stream, std::function<void()> work) {
  stream.capture->nodes.push_back({std::move(work), &stream, stream.seen});
  stream.seen[&stream] = ++stream.capture->enqueued[&stream];
}

cudaError_t wait(CUstream_st& stream, const CUevent_st& event) {
  if (event.capture == nullptr) return stream.capture == nullptr ? cudaSuccess : cudaErrorStreamCaptureIsolation;
  if (event.capture->ended) return cudaErrorCapturedEvent;
  if (stream.capture != nullptr && stream.capture != event.capture) return cudaErrorStreamCaptureMerge;
  stream.capture = event.capture;
  for (const auto& [from, count] : event.seen) stream.seen[from] = std::max(stream.seen[from], count);
  return cudaSuccess;
}

cudaError_t end_capture(CUstream_st& stream, cudaGraph_t* graph) {
  *graph = nullptr;
  const std::shared_ptr<Capture> capture = stream.capture;
  if (capture == nullptr || capture->origin != &stream) return cudaErrorStreamCaptureUnmatched;
  if (capture->mode != cudaStreamCaptureModeRelaxed && !is_own(*capture)) return cudaErrorStreamCaptureWrongThread;
  capture->ended = true;
  std::erase(captures, capture);
  if (capture->spoilt) return cudaErrorStreamCaptureInvalidated;
  for (const auto& [from, count] : capture->enqueued) {
    if (stream.seen[from] != count) return cudaErrorStreamCaptureUnjoined;
  }
  *graph = new CUgraph_st{{std::move(capture->nodes), capture->origin}};
  return cudaSuccess;
}

/// Runs what the origin was given, and of the other streams only what it waits for; then the rest.
class LateReplay {
 public:
  explicit LateReplay(const Work& work) {
    for (const Node& node : work.nodes) streams_[node.stream].push_back(&node);
    advance(work.origin, streams_[work.origin].size());
    for (const auto& [stream, nodes] : streams_) advance(stream, nodes.size());
  }

 private:
  void advance(const CUstream_st* stream, std::size_t count) {
    for (std::size_t& done = done_[stream]; done < count; ++done) {
      const Node& node = *streams_[stream][done];
      for (const auto& [other, needed] : node.before) {
        if (other != stream) advance(other, needed);
      }
      node.run();
    }
  }

  std::map<const CUstream_st*, std::vector<const Node*>> streams_;
  Progress done_;
};

void replay(const Work& work) {
  if (runs_backwards()) {
    LateReplay{work};
  } else {
    for (const Node& node : work.nodes) node.run();
  }
}

}  // namespace

cudaError_t refuse_beside_capture() {
  return refuse([](const Capture& capture) {
    if (thread_mode == cudaStreamCaptureModeRelaxed || capture.mode == cudaStreamCaptureModeRelaxed) return false;
    return is_own(capture) ||
           (thread_mode == cudaStreamCaptureModeGlobal && capture.mode == cudaStreamCaptureModeGlobal);
  });
}

cudaError_t enqueue(cudaStream_t where, std::function<void()> work) {
  const std::scoped_lock lock(device);
  CUstream_st& stream = get(where);
  if (stream.capture == nullptr) return run(work);
  if (stream.capture->spoilt) return cudaErrorStreamCaptureInvalidated;
  add(stream, std::move(work));
  return cudaSuccess;
}

}  // namespace host_cuda

using host_cuda::device;
using host_cuda::get;
using host_cuda::report;

cudaError_t cudaDeviceSynchronize() {
  const std::scoped_lock lock(device);
  return report(host_cuda::refuse([](const Capture& capture) {
    return host_cuda::is_own(capture) || capture.mode == cudaStreamCaptureModeGlobal;
  }));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CUstream_st;
  return report(cudaSuccess);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return report(cudaSuccess);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const std::scoped_lock lock(device);
  const std::shared_ptr<Capture> mine = get(stream).capture;
  return report(host_cuda::refuse([&](const Capture& capture) { return &capture == mine.get(); }));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const std::scoped_lock lock(device);
  return report(host_cuda::wait(get(stream), *event));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return report(cudaSuccess);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return report(cudaSuccess);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const std::scoped_lock lock(device);
  *event = {get(stream).capture, get(stream).seen};
  return report(cudaSuccess);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const std::scoped_lock lock(device);
  const std::shared_ptr<Capture>& capture = get(stream).capture;
  *status = capture == nullptr ? cudaStreamCaptureStatusNone
            : capture->spoilt  ? cudaStreamCaptureStatusInvalidated
                               : cudaStreamCaptureStatusActive;
  return report(cudaSuccess);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  const std::scoped_lock lock(device);
  if (stream == nullptr || get(stream).capture != nullptr) return report(cudaErrorStreamCaptureUnsupported);
  *stream = {std::make_shared<Capture>(Capture{.origin = stream, .mode = mode}), {}};
  host_cuda::captures.push_back(stream->capture);
  return report(cudaSuccess);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const std::scoped_lock lock(device);
  return report(host_cuda::end_capture(get(stream), graph));
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(host_cuda::thread_mode, *mode);
  return report(cudaSuccess);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  if (graph == nullptr) return report(cudaErrorInvalidValue);
  *exec = new CUgraphExec_st{graph->work};
  return report(cudaSuccess);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  if (exec == nullptr) return report(cudaErrorInvalidValue);
  return report(host_cuda::enqueue(stream, [work = exec->work] { host_cuda::replay(work); }));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  if (graph == nullptr) return report(cudaErrorInvalidValue);
  delete graph;
  return report(cudaSuccess);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  if (exec == nullptr) return report(cudaErrorInvalidValue);
  delete exec;
  return report(cudaSuccess);
}
