# SPDX-License-Identifier: Apache-2.0
# Installs headers, library, program and the files for find_package(trasmuon) and pkg-config. The
# installed tree can be moved.
option(TRASMUON_INSTALL "Define the install rules" ${PROJECT_IS_TOP_LEVEL})
if(NOT TRASMUON_INSTALL)
  return()
endif()
include(CMakePackageConfigHelpers)

install(TARGETS trasmuon EXPORT trasmuonTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET trasmuon_cuda)
  install(TARGETS trasmuon_cuda OPTIONAL LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY include/trasmuon DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

# `cmake --build BUILD --target installables` builds only what is installed.
add_custom_target(installables DEPENDS trasmuon)
if(TARGET trasmuon_program)
  add_dependencies(installables trasmuon_program)
  install(TARGETS trasmuon_program OPTIONAL RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/trasmuon FILES_MATCHING PATTERN "*.toml")
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/trasmuon)
install(EXPORT trasmuonTargets NAMESPACE trasmuon:: DESTINATION ${package_dir})
configure_package_config_file(cmake/trasmuonConfig.cmake.in trasmuonConfig.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may break compatibility.
write_basic_package_version_file(trasmuonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/trasmuonConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/trasmuonConfigVersion.cmake
  DESTINATION ${package_dir})

# The prefix relative to the folder of the .pc file, which pkg-config calls pcfiledir.
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
  BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE pkgconfig_to_prefix)
cmake_path(NORMAL_PATH pkgconfig_to_prefix)
configure_file(cmake/trasmuon.pc.in trasmuon.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/trasmuon.pc DESTINATION ${pkgconfig_dir})
