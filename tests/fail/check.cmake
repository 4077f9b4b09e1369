# SPDX-License-Identifier: Apache-2.0
# cmake -D COMPILER=c++ -D INCLUDE=include -D SOURCE=file.cpp -P check.cmake
# SOURCE says "// expected-error: MESSAGE" on the line of the mistake, which only BALLAST_EXPECT_FAIL lets the compiler see.
file(STRINGS ${SOURCE} expected REGEX "// expected-error: ")
list(LENGTH expected count)
if(NOT count EQUAL 1)
  message(FATAL_ERROR "${SOURCE} states ${count} expected errors instead of one")
endif()
string(REGEX REPLACE ".*// expected-error: " "" expected "${expected}")

set(compile ${COMPILER} -std=c++20 -fsyntax-only -I${INCLUDE} ${SOURCE})
execute_process(COMMAND ${compile} RESULT_VARIABLE failed ERROR_VARIABLE said)
if(failed)
  message(FATAL_ERROR "the right half of ${SOURCE} does not compile:\n${said}")
endif()
execute_process(COMMAND ${compile} -DBALLAST_EXPECT_FAIL RESULT_VARIABLE failed ERROR_VARIABLE said)
if(NOT failed)
  message(FATAL_ERROR "the wrong half of ${SOURCE} compiles")
endif()
string(REGEX REPLACE "[^\n]*expected-error:[^\n]*" "" said "${said}")  # the compiler echoes the source line, message and all
string(FIND "${said}" "${expected}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "the wrong half of ${SOURCE} fails without saying '${expected}':\n${said}")
endif()
