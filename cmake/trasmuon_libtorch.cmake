# SPDX-License-Identifier: Apache-2.0
# The LibTorch adapter (include/trasmuon/libtorch.h), and trasmuon_use_torch for our own programs.
# The library itself is never compiled against torch.
set(TRASMUON_WITH_LIBTORCH AUTO CACHE STRING "Use LibTorch: AUTO (if found; as a subproject, if the parent found it), ON, OFF")
set_property(CACHE TRASMUON_WITH_LIBTORCH PROPERTY STRINGS AUTO ON OFF)

if(TRASMUON_WITH_LIBTORCH AND NOT TARGET torch)
  # A LibTorch with CUDA overwrites these with its own architectures.
  set(own_cuda_flags "${CMAKE_CUDA_FLAGS}")
  set(own_cuda_architectures "${CMAKE_CUDA_ARCHITECTURES}")
  if(NOT TRASMUON_WITH_LIBTORCH STREQUAL "AUTO")
    find_package(Torch REQUIRED)
  elseif(PROJECT_IS_TOP_LEVEL)
    # A CUDA build of LibTorch fails here without the CUDA toolkit; -DTRASMUON_WITH_LIBTORCH=OFF avoids it.
    find_package(Torch QUIET)
  endif()
  set(CMAKE_CUDA_FLAGS "${own_cuda_flags}")
  set(CMAKE_CUDA_ARCHITECTURES "${own_cuda_architectures}")
endif()
if(NOT TRASMUON_WITH_LIBTORCH OR NOT TARGET torch)
  message(STATUS "trasmuon: without LibTorch")
  return()
endif()

# Not ${TORCH_LIBRARIES}, which holds absolute paths. The standard library comes before torch: wheels
# export an older std::filesystem, which crashes when it is found first.
add_library(trasmuon_torch INTERFACE)
target_link_libraries(trasmuon_torch INTERFACE $<$<CXX_COMPILER_ID:GNU>:stdc++> torch)
if(TARGET c10_cuda)  # LibTorch has CUDA: the adapter uses its current streams
  target_link_libraries(trasmuon_torch INTERFACE c10_cuda)
  target_compile_definitions(trasmuon_torch INTERFACE TRASMUON_LIBTORCH_CUDA)
  # A wheel finds its own NCCL when it is loaded; the linker may see an older one of the system and miss symbols.
  # Not for other builds of LibTorch: Debian's needs libfmt, whose symbols our objects have too, hidden.
  target_link_options(trasmuon_torch INTERFACE LINKER:--allow-shlib-undefined)
endif()

# What c10d's headers include: LibTorch has Gloo and NCCL inside, but not always these.
find_path(TRASMUON_GLOO_HEADERS gloo/context.h HINTS ${TORCH_INCLUDE_DIRS})
if(TARGET c10_cuda)
  file(GLOB nccl_of_wheel ${TORCH_INSTALL_PREFIX}/../nvidia/nccl/include)
  find_path(TRASMUON_NCCL_HEADERS nccl.h HINTS ${nccl_of_wheel})
endif()

add_library(trasmuon_libtorch INTERFACE)
add_library(trasmuon::libtorch ALIAS trasmuon_libtorch)
target_link_libraries(trasmuon_libtorch INTERFACE trasmuon trasmuon_torch)

# trasmuon_use_torch(target): links torch and reuses one precompiled header for all such targets.
# GCC rejects a precompiled header made with other flags, so all of them, executables too, are
# compiled with -fPIC.
function(trasmuon_use_torch target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC)
  target_link_libraries(${target} PRIVATE trasmuon_torch trasmuon_settings)
  if(NOT target STREQUAL "trasmuon_torch_headers")
    target_precompile_headers(${target} REUSE_FROM trasmuon_torch_headers)
  endif()
endfunction()

file(CONFIGURE OUTPUT torch_headers.cpp CONTENT "" @ONLY)
add_library(trasmuon_torch_headers OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/torch_headers.cpp)
target_precompile_headers(trasmuon_torch_headers PRIVATE <torch/types.h> <torch/nn/module.h>)
trasmuon_use_torch(trasmuon_torch_headers)
