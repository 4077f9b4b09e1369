# SPDX-License-Identifier: Apache-2.0
# cmake -D ROOT=. -D PAGES=docs/packing.md,docs/layout.md -D OUTPUT=docs_blocks.cpp -P docs_blocks.cmake
# Writes one program that runs every block of these pages which opens with ```cpp. Such a block is a complete program, or statements that
# compile inside a function, behind the includes they need. Each becomes a function in a namespace of its own. Errors name page and line.
set(includes "#include <exception>\n#include <iostream>\n")
set(functions "")
set(calls "")
string(REPLACE "," ";" PAGES "${PAGES}")
foreach(page IN LISTS PAGES)
  file(READ ${ROOT}/${page} rest)
  cmake_path(GET page STEM stem)
  string(MAKE_C_IDENTIFIER ${stem} name)
  set(line 1)
  string(FIND "${rest}" "\n```cpp\n" begin)
  while(begin GREATER -1)
    math(EXPR begin "${begin} + 8")
    string(SUBSTRING "${rest}" 0 ${begin} before)
    string(SUBSTRING "${rest}" ${begin} -1 rest)
    string(FIND "${rest}" "\n```" end)
    string(SUBSTRING "${rest}" 0 ${end} block)
    string(SUBSTRING "${rest}" ${end} -1 rest)
    string(REGEX REPLACE "[^\n]" "" newlines "${before}")
    string(LENGTH "${newlines}" lines)
    math(EXPR line "${line} + ${lines}")
    set(space ${name}_${line})

    string(REGEX MATCHALL "#include [^\n]*" named "${block}")
    list(JOIN named "\n" named)
    string(APPEND includes "${named}\n")
    string(REGEX REPLACE "#include [^\n]*" "" code "${block}")
    if(code MATCHES "int main\\(")
      string(REPLACE "int main(" "auto program(" code "${code}")
    else()
      set(code "auto program() {\n#line ${line} \"${page}\"\n${code}\n}")
    endif()
    string(APPEND functions "namespace ${space} {\n#line ${line} \"${page}\"\n${code}\n}\n")
    string(APPEND calls "  failed |= fails(\"${page}:${line}\", ${space}::program);\n")

    string(REGEX REPLACE "[^\n]" "" newlines "${block}")
    string(LENGTH "${newlines}" lines)
    math(EXPR line "${line} + ${lines}")
    string(FIND "${rest}" "\n```cpp\n" begin)
  endwhile()
endforeach()
file(WRITE ${OUTPUT} "${includes}${functions}
#line 1 \"docs_blocks\"
template <class Program>
bool fails(char const* where, Program program) try {
  std::cout << \"== \" << where << '\\n';
  if constexpr (requires { program() == 0; }) {
    return program() != 0;
  } else {
    program();
    return false;
  }
} catch (std::exception const& error) {
  std::cerr << where << \": \" << error.what() << '\\n';
  return true;
}

int main() {
  bool failed = false;
${calls}  return failed ? 1 : 0;
}
")
