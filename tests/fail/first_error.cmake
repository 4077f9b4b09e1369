# SPDX-License-Identifier: Apache-2.0
# cmake -D COMPILER=c++ -D INCLUDE=include -P first_error.cmake
# A compiler that cannot read ballast is told so by the first error, whichever header comes first: C++17 by every header, a compiler that
# is too old (its version is lowered by hand) by the one that includes all.
function(expect header sentence)  # the other arguments are flags
  execute_process(COMMAND ${COMPILER} -E -I${INCLUDE} ${ARGN} -x c++ ${header} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE said)
  string(REGEX MATCH "error: [^\n]*" first "${said}")
  string(FIND "${first}" "\"${sentence}\"" at)
  if(NOT failed OR at EQUAL -1)
    message(FATAL_ERROR "the first error of ${header} by ${ARGN} is not '${sentence}':\n${said}")
  endif()
endfunction()

file(GLOB_RECURSE headers ${INCLUDE}/ballast/*.hpp)
foreach(header IN LISTS headers)
  expect(${header} "ballast needs C++20: compile with -std=c++20 or later" -std=c++17)
endforeach()
foreach(version IN ITEMS "-U__clang_major__;-D__clang_major__=15;-U__GNUC__;-D__GNUC__=11" "-D__NVCC__;-D__CUDACC_VER_MAJOR__=12")
  expect(${INCLUDE}/ballast/ballast.hpp "ballast needs g++ 12, clang 16 or nvcc 13 or later" -std=c++20 ${version})
endforeach()
