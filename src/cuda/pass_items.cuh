// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda/apply.cuh"
#include "cuda/hopper.cuh"
#include "cuda/momentum.cuh"
#include "cuda/products_sm90.h"
#include "cuda/row_scale.cuh"
#include "cuda/trust_region.cuh"

// The passes over G, M and W beside the products, item by item, f32 with iterates X.
namespace trasmuon::cuda {

template <class X>
__device__ __forceinline__ void run_item(const PassItem& item, const StepMemory& step, unsigned* counters, const Team& team) {
  const DeviceMatrix& x = step.matrices[item.chunk.matrix];
  MatrixStatus& status = step.status[item.chunk.matrix];
  const StepScalars& scalars = *step.scalars;
  const bool short_momentum = step.momentum == DType::bf16;
  switch (item.kind) {
    case PassItem::read:
      if (short_momentum) read_chunk<float, __nv_bfloat16>(team, x, status, item.chunk, scalars);
      else read_chunk<float, float>(team, x, status, item.chunk, scalars);
      break;
    case PassItem::decide:
      decide(team, x, status, scalars, step.scale);
      team.sync();
      if (team.thread == 0) add_release(&counters[item.signal], 1);
      if (scalars.trust) damp<float>(team, x, status, scalars);
      break;
    case PassItem::write:
      if (short_momentum) write_chunk<float, __nv_bfloat16, X>(team, x, status, item.chunk, scalars);
      else write_chunk<float, float, X>(team, x, status, item.chunk, scalars);
      break;
    case PassItem::square_rows: square_rows<float, X>(team, x, status, item.chunk); break;
    case PassItem::scale_rows:
      // The rows wait for the products; who applies them needs c as well.
      if (team.thread == 0) wait_until(&counters[counter_of(item.chunk.matrix, kDecided)], 2);
      scale_rows<float>(team, x, status, scalars);
      break;
    default: apply_chunk<float, X>(team, x, status, item.chunk, scalars); break;
  }
}

/// Takes items until there are none. `shared` passes them from the first thread to the others.
template <class X>
__device__ __forceinline__ void run_items(const ProductTables& tables, const StepMemory& step, PassItem& shared, const Team& team) {
  int ticket = team.thread == 0 ? static_cast<int>(atomicAdd(tables.item_ticket, 1)) : 0;
  for (;;) {
    if (team.thread == 0) {
      shared.kind = PassItem::end;
      if (ticket < tables.item_count) {
        shared = tables.items[ticket];
        ticket = static_cast<int>(atomicAdd(tables.item_ticket, 1));
        if (shared.wait >= 0) wait_until(&tables.counters[shared.wait], static_cast<unsigned>(shared.wait_for));
      }
    }
    team.sync();
    const PassItem item = shared;
    if (item.kind == PassItem::end) return;
    fence_global_for_copies();
    run_item<X>(item, step, tables.counters, team);
    fence_global_for_copies();
    team.sync();
    if (team.thread == 0 && item.signal >= 0) add_release(&tables.counters[item.signal], 1);
  }
}

}  // namespace trasmuon::cuda
