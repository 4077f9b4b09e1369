// SPDX-License-Identifier: Apache-2.0
#include "nearest.hpp"

#include "refused.hpp"

#include "support/catch.hpp"

#include <array>
#include <string>
#include <string_view>

namespace test_cli_nearest {

namespace {

using namespace ballast_test;
using ballast_cli::edit_distance;
using ballast_cli::nearest;

}  // namespace

TEST_CASE("the distance of two words is the least number of slips between them", "[cli]") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("capacity", "CAPACITY") == 0);
  CHECK(edit_distance("capcity", "capacity") == 1);
  CHECK(edit_distance("cappacity", "capacity") == 1);
  CHECK(edit_distance("kapacity", "capacity") == 1);
  CHECK(edit_distance("cpaacity", "capacity") == 1);
  CHECK(edit_distance("sitting", "kitten") == 3);
  for (std::string_view const a : {"bfd", "ffd", "next-fit", "online"})
    for (std::string_view const b : {"bfd", "ffd", "next-fit", "online"}) CHECK(edit_distance(a, b) == edit_distance(b, a));
}

TEST_CASE("the nearest word is named only where it is near", "[cli]") {
  constexpr std::array<std::string_view, 5> words{"--capacity", "--columns", "--oversize", "--json", "--out"};
  CHECK(nearest("--capcity", words) == "--capacity");
  CHECK(nearest("--colums", words) == "--columns");
  CHECK(nearest("--caps", words).empty());
  CHECK(nearest("--cap", words) == "--capacity");  // its beginning
  CHECK(nearest("--frobnicate", words).empty());
  CHECK(nearest("x", std::array<std::string_view, 2>{"y", "z"}).empty());
  CHECK(nearest("ab", std::array<std::string_view, 2>{"ax", "ay"}) == "ax");  // the first of equals
  CHECK(nearest(std::string(1000, 'a'), words).empty());
}

TEST_CASE("what is mistyped is named with what was meant", "[cli]") {
  scratch const in;
  in.file("f", "5\n6\n");
  in.file("c", "id,tokens\n1,5\n");
  in.file("j", "{\"meta\": {\"tokens\": 5}, \"size\": 5}\n");
  struct slip {
    std::string arguments, sentence;
  };
  slip const slips[] = {
      {"pck f", "ballast has no command pck; did you mean pack?\n"},
      {"repartition f", "ballast has no command repartition; did you mean partition?\n"},
      {"frobnicate", "ballast has no command frobnicate; ballast --help lists what there is\n"},
      {"--versoin", "ballast has no option --versoin; did you mean --version?\n"},
      {"pack f --capcity 20", "ballast pack has no option --capcity; did you mean --capacity?\n"},
      {"pack f --capcity=20", "ballast pack has no option --capcity; did you mean --capacity?\n"},
      {"pack f --capacity 20 --frobnicate", "ballast pack has no option --frobnicate; ballast pack --help lists what there is\n"},
      {"pack f --capacity 20 --strategy bdf",
       "--strategy bdf: expected one of auto, next-fit, first-fit, ffd, bfd, worst-fit, ffs, bfs, online, near-optimal, isf, completion, "
       "vector-best-fit, portfolio; did you mean bfd?\n"},
      {"pack f --capacity 20 --oversize truncat",
       "--oversize truncat: expected one of reject, set-aside, truncate, split, alone; did you mean truncate?\n"},
      {"plan f --capacity 20 --ranks 2 --device h10",
       "--device h10: expected one of v100, a100, h100, h200, b200, a100-40gb, h100-500w, h800, b300, gb200, gb300; did you mean h100?\n"},
      {"pack f --capacity 20 --capacity 30", "--capacity is given twice; once is enough\n"},
      {"pack f --json --json --capacity", "--capacity needs a value: N[,N]\n"},
      {"memory a b --tokens 5", "ballast memory does not know what to do with b; ballast memory --help lists what there is\n"},
      {"pack c --capacity 20 --columns tokns", "c: there is no column tokns among its 2 columns (id, tokens); did you mean tokens?\n"},
      {"pack j --capacity 20 --field sise", "j:1: the object has no field sise; did you mean size?\n"},
      {"pack j --capacity 20 --field tokens", "j:1: the object has no field tokens; did you mean meta.tokens?\n"},
  };
  for (auto const& s : slips) {
    CAPTURE(s.arguments);
    check_refused(in.ballast(s.arguments), s.sentence);
  }
  auto const model = in.ballast("plan f --capacity 20 --ranks 2 --model lama-3.1-8b");
  CHECK(model.code == 2);
  CHECK(model.err.ends_with("; did you mean llama-3.1-8b?\n"));
}

TEST_CASE("words of tables are taken in letters of any case, with - or _", "[cli]") {
  scratch const in;
  in.file("f", "5\n6\n");
  std::string const memory = "memory llama-3.1-8b --tokens 8 --json ", pack = "pack f --capacity 5 --json ";
  auto const usual = in.ballast(memory + "--device a100-40gb --optimizer adam-8bit --framework megatron");
  REQUIRE(usual.code == 0);
  CHECK(in.ballast(memory + "--device A100_40GB --optimizer Adam_8Bit --framework Megatron").out == usual.out);
  CHECK(figures(in.ballast(pack + "--oversize Set_Aside").out) == figures(in.ballast(pack + "--oversize set-aside").out));
}

TEST_CASE("a command that reads layers says which commands take a model", "[cli]") {
  scratch const in;
  for (std::string const command :
       {"partition qwen3-8b --stages 2", "recompute Qwen/Qwen3-8B --budget 5", "simulate qwen3-8b --stages 2 --micro-batches 2"})
    check_refused(in.ballast(command), command.substr(command.find(' ') + 1, command.find(" --") - command.find(' ') - 1) +
                                           ": is a model, and this command reads a CSV of layers; of a model, plan --model ");
}

TEST_CASE("every command is in a group of the help, with an example", "[cli]") {
  scratch const in;
  auto const help = in.ballast("--help").out;
  CHECK(help.find("\nSubcommands:") == help.npos);
  CHECK(in.ballast("memory --help").out.find("Example:\n  ballast memory ") != help.npos);
}

}  // namespace test_cli_nearest
