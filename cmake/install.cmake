# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` copies: headers, the CMake package and ballast.pc. The command line is a component of its own, `cli`.
include(CMakePackageConfigHelpers)
write_basic_package_version_file(ballast-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
configure_package_config_file(cmake/ballast-config.cmake.in ballast-config.cmake INSTALL_DESTINATION share/ballast)
configure_file(cmake/ballast.pc.in ballast.pc @ONLY)

# INCLUDES repeats the include directory for consumers whose CMake (before 3.23) does not read file sets.
install(TARGETS ballast EXPORT ballast-targets FILE_SET HEADERS DESTINATION include INCLUDES DESTINATION include)
install(TARGETS ballast_calibrate EXPORT ballast-calibrate-targets)
install(TARGETS ballast_gpu EXPORT ballast-gpu-targets FILE_SET HEADERS DESTINATION include INCLUDES DESTINATION include)
foreach(targets IN ITEMS ballast-targets ballast-calibrate-targets ballast-gpu-targets)
  install(EXPORT ${targets} NAMESPACE ballast:: DESTINATION share/ballast)
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/ballast-config.cmake ${PROJECT_BINARY_DIR}/ballast-config-version.cmake DESTINATION share/ballast)
install(FILES ${PROJECT_BINARY_DIR}/ballast.pc DESTINATION share/pkgconfig)
install(FILES LICENSE DESTINATION share/doc/ballast)
