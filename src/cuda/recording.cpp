// SPDX-License-Identifier: Apache-2.0
#include "cuda/recording.h"

#include "cuda/runtime/capture.h"
#include "cuda/step.h"

namespace trasmuon::cuda {

RecordedStep::RecordedStep(const GroupPlan& plan, SideStream& side, const Stream& recorder) {
  const cudaStream_t stream = recorder.get();
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  try {
    enqueue_step(plan, plan.tables(), side, stream);
  } catch (...) {
    (void)cudaStreamEndCapture(stream, &graph);
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
    throw;
  }
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  const cudaError_t error = cudaGraphInstantiate(&graph_, graph, 0);
  (void)cudaGraphDestroy(graph);
  check(error, "cudaGraphInstantiate");
}

RecordedStep::~RecordedStep() { (void)cudaGraphExecDestroy(graph_); }

void RecordedStep::replay(cudaStream_t stream) const { check(cudaGraphLaunch(graph_, stream), "cudaGraphLaunch"); }

std::vector<StepTables> CapturedSteps::add(const GroupPlan& plan, std::span<const Matrix> group,
                                           const StepScalars& scalars, const Stream& uploads) {
  const AllowWorkDuringCapture allow;
  DeviceMemory kept(sizeof scalars);
  upload(kept.data(), &scalars, kept.bytes(), uploads.get());
  std::vector<StepTables> tables = plan.tables();
  for (std::size_t k = 0; k < tables.size(); ++k) {
    const std::vector<DeviceMatrix> table = plan.batches()[k]->current_table(group);
    const DeviceMemory& memory = matrices_.emplace_back(table.size() * sizeof(DeviceMatrix));
    upload(memory.data(), table.data(), memory.bytes(), uploads.get());
    tables[k].matrices = memory.as<const DeviceMatrix>();
    tables[k].scalars = kept.as<const StepScalars>();
  }
  check(cudaStreamSynchronize(uploads.get()), "keeping the tables");
  scalars_.push_back(std::move(kept));
  return tables;
}

void CapturedSteps::refresh(const StepScalars& scalars, cudaStream_t stream) {
  for (const DeviceMemory& kept : scalars_) upload(kept.data(), &scalars, kept.bytes(), stream);
}

}  // namespace trasmuon::cuda
