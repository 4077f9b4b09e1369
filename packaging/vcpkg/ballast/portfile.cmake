# SPDX-License-Identifier: Apache-2.0
# An overlay port: it packages the checkout that it stands in.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)
if("compiled" IN_LIST FEATURES)
  vcpkg_check_linkage(ONLY_STATIC_LIBRARY)
else()
  set(VCPKG_BUILD_TYPE release)  # header-only
endif()
vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES compiled BALLAST_BUILD_COMPILED)

vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        ${features}
        -DBALLAST_BUILD_TESTS=OFF
        -DBALLAST_BUILD_BENCHMARKS=OFF
        -DBALLAST_BUILD_EXAMPLES=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup()
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share" "${CURRENT_PACKAGES_DIR}/share/doc")  # the licence; vcpkg keeps it elsewhere

file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
