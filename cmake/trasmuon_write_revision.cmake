# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCE=... -DVERSION=... -DTEMPLATE=... -DOUTPUT=... -P trasmuon_write_revision.cmake
# Writes the code's revision into OUTPUT, which is touched only when the revision has changed.
set(revision "")
find_program(git git)
if(git)
  # The top level must be ours: an unpacked archive inside another repository has no revision.
  execute_process(COMMAND ${git} -C ${SOURCE} rev-parse --show-prefix
    OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE outside)
  if(NOT outside AND prefix STREQUAL "")
    execute_process(COMMAND ${git} -C ${SOURCE} describe --always --dirty --abbrev=12
      OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
if(revision STREQUAL "")
  set(revision "version ${VERSION}")
endif()
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
