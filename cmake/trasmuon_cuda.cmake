# SPDX-License-Identifier: Apache-2.0
# The CUDA backend, a separate library that is loaded at run time. AUTO builds it where nvcc is
# found; ON fails where it is not.
set(TRASMUON_CUDA AUTO CACHE STRING "Build libtrasmuon_cuda.so: AUTO, ON or OFF")
set_property(CACHE TRASMUON_CUDA PROPERTY STRINGS AUTO ON OFF)
set(TRASMUON_HAS_CUDA OFF)
if(NOT TRASMUON_CUDA)
  return()
endif()

if(NOT CMAKE_CUDA_COMPILER)
  find_program(TRASMUON_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin /usr/local/cuda/bin)
  if(TRASMUON_NVCC)
    set(CMAKE_CUDA_COMPILER ${TRASMUON_NVCC})
  endif()
endif()
if(CMAKE_CUDA_COMPILER)
  # For the portable kernels; the Hopper kernels have an architecture of their own.
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 90-virtual)
  endif()
  enable_language(CUDA)
  # A parent project's find_package(Torch) has added torch's architectures to the flags.
  string(REGEX REPLACE "-gencode[ =]+[^ ]+" "" CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS}")
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know this option of nvcc 13
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  find_package(CUDAToolkit 12.5 REQUIRED)  # the first with cudaGetDriverEntryPointByVersion
  set(TRASMUON_HAS_CUDA ON)
elseif(TRASMUON_CUDA STREQUAL "AUTO")
  message(STATUS "trasmuon: without the CUDA backend, nvcc was not found")
else()
  message(FATAL_ERROR "TRASMUON_CUDA=ON needs nvcc: set CMAKE_CUDA_COMPILER or put it on the PATH")
endif()
