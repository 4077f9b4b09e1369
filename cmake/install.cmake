# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` copies: headers, the CMake package and ballast.pc, and ballast::compiled if it is built. The command line is a component of its own, `cli`.
include(CMakePackageConfigHelpers)
set(architecture ARCH_INDEPENDENT)
if(BALLAST_BUILD_COMPILED)
  set(architecture)
endif()
write_basic_package_version_file(ballast-config-version.cmake COMPATIBILITY SameMinorVersion ${architecture})
configure_package_config_file(cmake/ballast-config.cmake.in ballast-config.cmake INSTALL_DESTINATION share/ballast)
configure_file(cmake/ballast.pc.in ballast.pc @ONLY)

# INCLUDES repeats the include directory for consumers whose CMake (before 3.23) does not read file sets.
install(TARGETS ballast EXPORT ballast-targets FILE_SET HEADERS DESTINATION include INCLUDES DESTINATION include)
install(TARGETS ballast_calibrate EXPORT ballast-calibrate-targets)
install(TARGETS ballast_gpu EXPORT ballast-gpu-targets FILE_SET HEADERS DESTINATION include INCLUDES DESTINATION include)
if(BALLAST_BUILD_COMPILED)
  install(TARGETS ballast_compiled EXPORT ballast-compiled-targets ARCHIVE DESTINATION lib)
  install(EXPORT ballast-compiled-targets NAMESPACE ballast:: DESTINATION share/ballast)
  configure_file(cmake/ballast-compiled.pc.in ballast-compiled.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/ballast-compiled.pc DESTINATION lib/pkgconfig)  # share is for what no machine differs in
endif()
foreach(targets IN ITEMS ballast-targets ballast-calibrate-targets ballast-gpu-targets)
  install(EXPORT ${targets} NAMESPACE ballast:: DESTINATION share/ballast)
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/ballast-config.cmake ${PROJECT_BINARY_DIR}/ballast-config-version.cmake DESTINATION share/ballast)
install(FILES ${PROJECT_BINARY_DIR}/ballast.pc DESTINATION share/pkgconfig)
install(FILES LICENSE DESTINATION share/doc/ballast)
