# SPDX-License-Identifier: Apache-2.0
# Language standard, warnings and sanitizers of all targets.
include(GNUInstallDirs)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Link this for the project's warnings and sanitizers; it is not exported.
add_library(trasmuon_settings INTERFACE)
target_compile_options(trasmuon_settings INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers
  $<$<CXX_COMPILER_ID:GNU>:-Wno-psabi -Wno-unknown-pragmas>
  # GCC 12 warns falsely about overlapping copies in std::string's operator+ (bug 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  $<$<CXX_COMPILER_ID:Clang>:-Wno-unknown-pragmas>)
if(TRASMUON_SANITIZE)
  target_compile_options(trasmuon_settings INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(trasmuon_settings INTERFACE -fsanitize=address,undefined)
endif()
if(TRASMUON_FUZZ)
  target_compile_options(trasmuon_settings INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(trasmuon_settings INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(TRASMUON_SANITIZE_THREADS)
  target_compile_options(trasmuon_settings INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(trasmuon_settings INTERFACE -fsanitize=thread)
endif()
