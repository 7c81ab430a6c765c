# SPDX-License-Identifier: Apache-2.0
# What pyproject.toml puts into the Python wheel beside python/libtrasmuon: the libraries, built here, or taken from the
# folder TRASMUON_WHEEL_LIBRARIES, where they were built before. Wheels have no symbolic links, so each library is one
# file under the name by which it is looked up.
set(soname libtrasmuon.so.${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
if(TRASMUON_WHEEL_LIBRARIES)
  file(REAL_PATH ${TRASMUON_WHEEL_LIBRARIES}/${soname} core)
  if(EXISTS ${TRASMUON_WHEEL_LIBRARIES}/libtrasmuon_cuda.so)
    file(REAL_PATH ${TRASMUON_WHEEL_LIBRARIES}/libtrasmuon_cuda.so backend)
  endif()
else()
  set(core $<TARGET_FILE:trasmuon>)
  if(TARGET trasmuon_cuda)
    set(backend $<TARGET_FILE:trasmuon_cuda>)
    set_target_properties(trasmuon_cuda PROPERTIES BUILD_WITH_INSTALL_RPATH ON)  # it is copied as it was built
  endif()
endif()
install(PROGRAMS ${core} DESTINATION libtrasmuon RENAME ${soname} COMPONENT wheel)
if(backend)
  install(PROGRAMS ${backend} DESTINATION libtrasmuon RENAME libtrasmuon_cuda.so COMPONENT wheel)
endif()
