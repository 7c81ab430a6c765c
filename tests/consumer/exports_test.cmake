# SPDX-License-Identifier: Apache-2.0
# The shared library exports namespace trasmuon and the C ABI, and nothing else; every
# function of c_api.h is among it. Given: NM LIBRARY HEADER.

execute_process(COMMAND ${NM} -DC --defined-only ${LIBRARY} RESULT_VARIABLE status OUTPUT_VARIABLE table ERROR_VARIABLE table)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${NM} failed on ${LIBRARY}: ${table}")
endif()

# Lists of CMake split at semicolons and join at brackets; neither is needed here.
string(REGEX REPLACE "[][;]" "" table "${table}")
string(REGEX MATCHALL "[^\n]+" lines "${table}")
set(own "^[0-9a-f]+ [A-Za-z] ((typeinfo|typeinfo name|vtable) for )?trasmuon(::|_)")
foreach(line IN LISTS lines)
  if(NOT line MATCHES "${own}")
    message(SEND_ERROR "exported, but not ours: ${line}")
  endif()
endforeach()

file(STRINGS ${HEADER} declarations REGEX "^TRASMUON_API ")
foreach(declaration IN LISTS declarations)
  string(REGEX REPLACE ".*(trasmuon_[a-z0-9_]+)\\(.*" "\\1" name "${declaration}")
  if(NOT table MATCHES " T ${name}\n")
    message(SEND_ERROR "declared in c_api.h, but not exported: ${name}")
  endif()
endforeach()
if(NOT declarations OR NOT table MATCHES "trasmuon::Optimizer::step\\(")
  message(SEND_ERROR "found no declarations in ${HEADER}, or no trasmuon::Optimizer::step in ${LIBRARY}")
endif()
