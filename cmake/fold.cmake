# SPDX-License-Identifier: Apache-2.0
# ballast_fold(OUTPUT END SOURCE...): writes OUTPUT, which compiles the sources as one: each in a namespace of its own, in_<stem>, behind the includes
# of all, so that headers are read once and what the sources instantiate alike is compiled once. No include of a source depends on a macro.
function(ballast_fold output end)
  set(includes)
  set(bodies "")
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} lines REGEX "^#include ")
    list(APPEND includes ${lines})
    cmake_path(GET source STEM stem)
    string(APPEND bodies "namespace in_${stem} {\n#include \"${source}\"\n}\n")
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
  list(REMOVE_DUPLICATES includes)
  list(JOIN includes "\n" includes)
  file(CONFIGURE OUTPUT ${output} CONTENT "// SPDX-License-Identifier: Apache-2.0\n${includes}\n${bodies}${end}" @ONLY)
endfunction()
