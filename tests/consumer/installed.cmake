# SPDX-License-Identifier: Apache-2.0
# cmake -D BUILD=folder -D PREFIX=folder -D EXPECTED=file [-D OPTIONS=--component;name] -P installed.cmake
# Installs what is built and fails unless that is the one file EXPECTED, a path below PREFIX.
file(REMOVE_RECURSE ${PREFIX})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX} ${OPTIONS} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE installed RELATIVE ${PREFIX} ${PREFIX}/*)
if(NOT installed STREQUAL EXPECTED)
  message(FATAL_ERROR "installed are '${installed}' instead of '${EXPECTED}'")
endif()
