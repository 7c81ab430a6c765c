# SPDX-License-Identifier: Apache-2.0
# Installs the build, moves the result, and builds and runs two programs against it:
# C++ through find_package (with TORCH_DIR, one with LibTorch too), C through pkg-config.
# Given: BUILD_DIR SOURCE_DIR WORK_DIR VERSION LIBDIR GENERATOR C_COMPILER CXX_COMPILER
# EXTRA_FLAGS (sanitizers) TORCH_DIR (or empty).

function(run output)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nfailed with ${status}:\n${text}")
  endif()
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

function(expect_greeting who text refusal)
  set(expected "${VERSION} trasmuon: ${refusal}\n")
  if(NOT text STREQUAL expected)
    message(FATAL_ERROR "${who} printed '${text}', not '${expected}'")
  endif()
endfunction()

find_program(pkg_config NAMES pkg-config pkgconf)
if(NOT pkg_config)
  message(FATAL_ERROR "pkg-config is not installed; this test needs it")
endif()

file(REMOVE_RECURSE ${WORK_DIR})
run(ignored ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/installed)
set(prefix ${WORK_DIR}/moved)
file(RENAME ${WORK_DIR}/installed ${prefix})

# Nothing installed may point back here or ask for what is not installed.
file(GLOB_RECURSE descriptions ${prefix}/*.cmake ${prefix}/*.pc)
if(NOT descriptions)
  message(FATAL_ERROR "no CMake or pkg-config file was installed")
endif()
foreach(file IN LISTS descriptions)
  file(READ ${file} text)
  # Folders, not the root: a checkout in /trasmuon is found in lib/cmake/trasmuon too.
  foreach(foreign ${BUILD_DIR} ${SOURCE_DIR}/include ${SOURCE_DIR}/src ${SOURCE_DIR}/cmake ${WORK_DIR} trasmuon_objects trasmuon_settings trasmuon_kernels nlohmann Threads)
    string(FIND "${text}" "${foreign}" position)
    if(NOT position EQUAL -1)
      message(FATAL_ERROR "${file} mentions ${foreign}")
    endif()
  endforeach()
endforeach()

set(project ${CMAKE_CURRENT_LIST_DIR}/project)
set(libtorch)
if(TORCH_DIR)
  set(libtorch -DWITH_LIBTORCH=ON -DTorch_DIR=${TORCH_DIR})
endif()
run(ignored ${CMAKE_COMMAND} -S ${project} -B ${WORK_DIR}/build -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release
  -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${CXX_COMPILER} -DCMAKE_CXX_FLAGS=${EXTRA_FLAGS}
  -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF ${libtorch})
run(ignored ${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run(text ${WORK_DIR}/build/consumer)
expect_greeting("the C++ consumer" "${text}" "alpha must be > 0, got -1")
if(TORCH_DIR)
  run(text ${WORK_DIR}/build/libtorch_consumer)
  expect_greeting("the LibTorch consumer" "${text}" "lr must be in [0, 1e+20], got -1")
endif()

set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
run(ignored ${pkg_config} --exact-version=${VERSION} trasmuon)
run(flags ${pkg_config} --cflags --libs trasmuon)
separate_arguments(flags UNIX_COMMAND "${flags}")
separate_arguments(extra UNIX_COMMAND "${EXTRA_FLAGS}")
run(ignored ${C_COMPILER} -std=c11 -Wall -Wextra -Werror -pedantic ${extra} ${project}/consumer.c -o ${WORK_DIR}/consumer_c
  ${flags} -Wl,-rpath,${prefix}/${LIBDIR})
run(text ${WORK_DIR}/consumer_c)
expect_greeting("the C consumer" "${text}" "alpha must be > 0, got -1")
