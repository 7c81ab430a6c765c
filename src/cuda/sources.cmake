# SPDX-License-Identifier: Apache-2.0
# The backend's files by room, for nvcc (here) and for the host's compiler (tests/host_cuda).
set(cuda_host_sources
  backend.cpp
  dion_step.cpp
  group.cpp
  orthogonalize.cpp
  plan.cpp
  recording.cpp
  shard.cpp
  step.cpp
  step_scalars.cpp
  newton_schulz/gram_form.cpp
  newton_schulz/iteration_plan.cpp
  newton_schulz/products.cpp
  newton_schulz/schedule.cpp
  newton_schulz/small_form.cpp
  newton_schulz/standard_form.cpp
  runtime/blas.cpp
  runtime/device_info.cpp)
set(cuda_kernels
  newton_schulz/copy_rows.cu
  passes/adamw.cu
  passes/admit.cu
  passes/apply.cu
  passes/diagnostics.cu
  passes/dion.cu
  passes/energy.cu
  passes/load_store.cu
  passes/momentum.cu
  passes/row_scale.cu
  passes/trust_region.cu)
# wgmma and bulk tensor copies exist on sm_90a only; other devices multiply with cuBLAS.
set(cuda_hopper_kernels
  hopper/product_kernel.cu
  hopper/small_kernel.cu)
