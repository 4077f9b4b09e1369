# SPDX-License-Identifier: Apache-2.0
# cmake -D ROOT=. -D COMPILER=c++ -D FOLDER=folder -P amalgamated.cmake
# Writes the library as one file and reads the programs of the README with it: all of them with ballast.hpp, the first with ballast_packing.hpp.
execute_process(COMMAND ${ROOT}/scripts/amalgamate ${FOLDER} COMMAND_ERROR_IS_FATAL ANY)
set(programs ${FOLDER}/readme.cpp)
execute_process(COMMAND ${CMAKE_COMMAND} -D ROOT=${ROOT} -D PAGES=README.md -D OUTPUT=${programs} -P ${ROOT}/tests/house/docs_blocks.cmake COMMAND_ERROR_IS_FATAL ANY)
file(READ ${programs} all)
file(READ ${ROOT}/README.md text)
string(REGEX MATCH "```cpp\n([^`]*)```" text "${text}")
set(first "${CMAKE_MATCH_1}")

function(read_with header program)
  string(REGEX REPLACE "<ballast/[a-z_/]*[.]hpp>" "\"${header}.hpp\"" program "${program}")
  file(WRITE ${FOLDER}/uses_${header}.cpp "${program}")
  execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only ${FOLDER}/uses_${header}.cpp COMMAND_ERROR_IS_FATAL ANY)
endfunction()
read_with(ballast "${all}")
read_with(ballast_packing "${first}")
