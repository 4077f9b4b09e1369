// SPDX-License-Identifier: Apache-2.0
#include "readers/buffers.hpp"

#include "errors.hpp"
#include "program.hpp"
#include "support/catch.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace test_cli_buffers {

namespace {

using namespace ballast_cli;
using ballast::buffer;

std::string refusal(std::string const& text) {
  try {
    (void)read_buffers(text, "f");
  } catch (bad_input const& e) {
    return e.what();
  }
  return "read";
}

}  // namespace

TEST_CASE("buffers: MiniMalloc's columns, in any order and under all their names", "[cli][buffers]") {
  auto const a = read_buffers("id,lower,upper,size\nx,0,3,4\ny,3,9,8\n", "f");
  CHECK(a.names == std::vector<std::string>{"x", "y"});
  CHECK(a.buffers == std::vector<buffer>{{0, 3, 4}, {3, 9, 8}});
  CHECK(read_buffers("\xef\xbb\xbfsize,upper,lower,buffer\r\n\r\n4, 3 ,0,\"x\"\r\n8,9,3,y", "f").buffers == a.buffers);
  CHECK(read_buffers("buffer_id,begin,end,size\nx,0,2,4\ny,3,8,8\n", "f").buffers == a.buffers);  // `end` is the last time in use
  CHECK(read_buffers("id,start,upper,size,hint\nx,0,3,4,7\ny,3,9,8,\n", "f").buffers == a.buffers);
  auto const b = read_buffers("id,lower,upper,size,alignment,offset\n1,-5,3,0,,\n2,3,9,8,64,128\n", "f");
  CHECK(b.buffers == std::vector<buffer>{{-5, 3, 0}, {3, 9, 8, 64, 128}});
}

TEST_CASE("buffers: what is written is read back, with its addresses", "[cli][buffers]") {
  for (auto const* text :
       {"id,lower,upper,size\nx,0,3,4\n\"y, \"\"z\"\"\",-3,9,8\n", "id,lower,upper,size,alignment\nx,0,3,4,\ny,3,9,8,64\n"}) {
    auto table = read_buffers(text, "f");
    std::vector<std::int64_t> const offsets{32, 64};
    auto const again = read_buffers(buffers_csv(table, offsets), "f");
    table.buffers[0].fixed = 32;
    table.buffers[1].fixed = 64;
    CHECK(again.buffers == table.buffers);
    CHECK(again.names == table.names);
  }
}

TEST_CASE("buffers: a file that cannot be read is refused, naming the line", "[cli][buffers]") {
  auto const head = std::string("id,lower,upper,size,alignment,offset\n");
  struct bad {
    std::string text, sentence;
  };
  bad const cases[] = {
      {"", "f: there are no buffers in it"},
      {head, "f: there are no buffers in it"},
      {"id,lower,upper\n", "f:1: the column size is missing"},
      {"id,lower,upper,size,gaps\n",
       "f:1: gaps is no column of buffers; these are id, lower, upper (or end, the last time in use) and size, and may be alignment, "
       "offset (an "
       "address that is fixed) and hint (which is not used)"},
      {"id,lower,upper,end,size\n", "f:1: the columns upper and end say the same"},
      {"id,lower,lower,upper,size\n", "f:1: the columns lower and lower say the same"},
      {head + "1,0,2,4,1\n", "f:2: 5 columns where the header has 6"},
      {head + ",0,2,4,,\n", "f:2: the buffer has no id"},
      {head + "1,0,2,4,,\n\n1,0,2,4,,\n", "f:4: buffer 1 is in line 2 already"},
      {head + "1,x,2,4,,\n", "f:2: x is not a time: lower is a whole number between -2^62 and 2^62"},
      {head + "1,0,4611686018427387904,4,,\n", "f:2: 4611686018427387904 is not a time: upper is a whole number between -2^62 and 2^62"},
      {head + "1,2,2,4,,\n", "f:2: buffer 1 ends at 2, where it begins or before, 2"},
      {"id,lower,end,size\n1,2,1,4\n", "f:2: buffer 1 ends at 1, before it begins, 2"},
      {head + "1,0,2,-4,,\n", "f:2: -4 is not a number of bytes: size is a whole number from 0"},
      {head + "1,0,2,,,\n", "f:2: an empty field is not a number of bytes: size is a whole number from 0"},
      {head + "1,0,2,4,0,\n", "f:2: 0 is not a number of bytes: alignment is a whole number from 1"},
      {head + "1,0,2,4,1,-1\n", "f:2: -1 is not a number of bytes: offset is a whole number from 0"},
      {head + "1,0,2,4,8,12\n", "f:2: offset 12 is not a multiple of the alignment 8"},
      {head + "1,0,2,4,,\n2,0,2,4611686018427387899,,\n", "f:3: sizes, alignments and offsets add up to 2^62 or more"},
      {head + "1,\"0,2,4,,\n", "f:2: a quote is opened and not closed on the same line"},
  };
  for (auto const& [text, sentence] : cases) CHECK(refusal(text) == sentence);
  CHECK(refusal(head + "1,0,2,4,,\n2,0,2,4611686018427387896,,\n") == "read");  // 2^62 - 1 with the alignments
}

}  // namespace test_cli_buffers
