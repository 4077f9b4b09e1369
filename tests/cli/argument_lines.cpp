// SPDX-License-Identifier: Apache-2.0
#include "readers/argument_lines.hpp"

#include "support/catch.hpp"

#include <string>
#include <vector>

namespace test_cli_argument_lines {

namespace {

using namespace ballast_cli;
using words = std::vector<std::string>;

/// The words of a flag, "none" if it is not there.
words of(std::string const& text, std::string const& key) {
  auto lines = read_argument_lines(text, "run.sh");
  if (!lines.flags.has(key)) return {"none"};
  return lines.flags.list(key);
}

}  // namespace

TEST_CASE("argument_lines: flags, values, quotes, comments and continued lines") {
  CHECK(of("a.py --one 1 --two=2 --three", "one") == words{"1"});
  CHECK(of("a.py --one 1 --two=2 --three", "two") == words{"2"});
  CHECK(of("a.py --one 1 --two=2 --three", "three").empty());
  CHECK(of("--Two-Words 3", "Two_Words") == words{"3"});
  CHECK(of("# --one 1\na.py \\\n  --two 2 # --three 3\n --four 4", "one") == words{"none"});
  CHECK(of("# --one 1\na.py \\\n  --two 2 # --three 3\n --four 4", "three") == words{"none"});
  CHECK(of("a.py \\\r\n --two 2 \\\r\n --four 4\r\n", "four") == words{"4"});
  CHECK(of("a.py --list x 'y z' \"w\" --end", "list") == words{"x", "y", "z", "w"});
  CHECK(of("a.py --layout \"Et*2|tL\" 2>&1 | tee log --not-a-flag", "layout") == words{"Et*2|tL"});
  CHECK(of("a.py --one 1 2>&1 | tee log", "one") == words{"1"});
  CHECK(of("a.py --one -1 --two", "one") == words{"-1"});
}

TEST_CASE("argument_lines: variables and arrays") {
  CHECK(of("TP=4\nexport PP=2\na.py --tp $TP --pp ${PP} --cp ${CP:-3}", "tp") == words{"4"});
  CHECK(of("TP=4\nexport PP=2\na.py --tp $TP --pp ${PP} --cp ${CP:-3}", "pp") == words{"2"});
  CHECK(of("TP=4\nexport PP=2\na.py --tp $TP --pp ${PP} --cp ${CP:-3}", "cp") == words{"3"});
  CHECK(of("A=(\n --one 1 # first\n --two '2 3'\n)\na.py \"${A[@]}\" --three 3", "two") == words{"2", "3"});
  CHECK(of("A=(\n --one 1 # first\n --two '2 3'\n)\na.py ${A[@]} --three 3", "three") == words{"3"});
  CHECK(of("A=(--one 1)", "one") == words{"1"});  // an array that nothing uses: a file of flags alone
  CHECK(of("ARGS=\" \\\n --one 1 \\\n --two 2 \"\na.py $ARGS \"$@\"", "two") == words{"2"});
  CHECK(of("A=()\nif [[ \"$D\" == \"x\" ]]; then\n A+=(\"--one 1\" \"--two\")\nfi\na.py ${A[@]} --three 3", "one") == words{"1"});
  CHECK(of("A=()\nif [[ \"$D\" == \"x\" ]]; then\n A+=(\"--one 1\" \"--two\")\nfi\na.py ${A[@]} --three 3", "two").empty());
  for (std::string const fork : {"else", "elif [ y ]; then", "  else\n  if x\n  then\n   C=(--three)\n  fi"}) {
    auto const script = "if x; then\n A+=(--one 1)\n" + fork + "\n A+=(--one 2)\nfi\nB=(--two 2)\na.py ${A[@]} ${B[@]}";
    CHECK(of(script, "one") == words{"1"});
    CHECK(of(script, "two") == words{"2"});
  }
  CHECK(of("elsewhere --one 1", "one") == words{"1"});
  CHECK(of("if x; then\n A=(--one 1)\nelse\n A=(--two 2)", "one") == words{"1"});
  CHECK(of("A=(--one 1)\nB=(--two 2)\nA+=(\"${B[@]}\")\na.py ${A[@]}", "two") == words{"2"});
  CHECK(of("A=(--one 1)\nB+=(--two 2)\na.py ${A[@]} ${B[@]}", "two") == words{"2"});
  CHECK(of("a.py --one '$X' --two \"\\$Y\"", "two") == words{"$Y"});
  CHECK(of("N=2\na.py --one pre${N}post", "one") == words{"pre2post"});
}

TEST_CASE("argument_lines: what may hold more flags is listed, and is no value of the flag before it") {
  auto const unread = [](std::string const& text) { return read_argument_lines(text, "run.sh").unread; };
  CHECK(unread("A=(--one 1)\nsource env.sh\na.py \"${A[@]}\" --two $B --three=$C ${D:-4} 2>&1 | tee $LOG") ==
        words{"line 2: source env.sh"});
  CHECK(unread("a.py --one 1 $MORE --two \\\n  \"$@\"") == words{"line 1: $MORE", "line 2: $@"});
  CHECK(of("a.py --one 1 $MORE --two", "one") == words{"1"});
  CHECK(of("a.py --one 1 \"${@:2}\"", "one") == words{"1"});
  CHECK(unread("a.py --one 1 \"${@:2}\" $1 ${MORE} $(more)") == words{"line 1: $(...)", "line 1: $1", "line 1: ${@:2}", "line 1: ${MORE}"});
  CHECK(unread("torchrun $LAUNCH \"$ROOT\"/a.py $ARGS\ncd $HOME\nmkdir -p $OUT") == words{"line 1: $ARGS", "line 1: $LAUNCH"});
  CHECK(unread("if x; then\n A=(--one 1)\nelse\n A=(--one 2)\nfi\na.py ${A[@]}") == words{"line 3: the other branches of a condition"});
  CHECK(of("a.py --one \"\" --two", "one").empty());
  CHECK(read_argument_lines("a.py --one \"\" --two", "run.sh").flags.has("one"));
}

TEST_CASE("argument_lines: devices that torchrun or its variables name") {
  auto const gpus = [](std::string const& text) { return read_argument_lines(text, "run.sh").gpus.value_or(0); };
  CHECK(gpus("N=8\ntorchrun --nproc_per_node $N --nnodes 4 a.py --one 1") == 32);
  CHECK(gpus("torchrun --nproc-per-node=8 a.py --one 1") == 8);
  CHECK(gpus("NPROC_PER_NODE=2 \\\nmegatron sft --one 1") == 2);
  CHECK(gpus("NPROC_PER_NODE=8 NNODES=3 megatron sft --one 1") == 24);
  CHECK(gpus("torchrun --nproc_per_node 8 --nnodes $NNODES a.py --one 1") == 0);
  CHECK(gpus("a.py --one 1") == 0);
  auto const lines = read_argument_lines("torchrun --standalone a.py --one 1\n", "run.sh");
  CHECK(lines.commands == words{"torchrun", "a.py"});
}

TEST_CASE("argument_lines: words behind a program of Python override keys of its configuration") {
  auto const given = [](std::string const& text, std::string const& key) {
    return read_argument_lines(text, "run.sh").overrides.word(key, "none");
  };
  std::string const script =
      "N=8\nX.y=1\npython3 -m a.main --config-name 'c' a.b=$N +a.c.d='[1,2]' ++e.f=\"x=y\" \\\n  name=z --flag g.h=2 && other i.j=3\n";
  CHECK(given(script, "a.b") == "8");
  CHECK(given(script, "a.c.d") == "[1,2]");
  CHECK(given(script, "e.f") == "x=y");
  CHECK(given(script, "name") == "z");
  CHECK(given(script, "g.h") == "2");
  CHECK(given(script, "i.j") == "none");  // of another command
  CHECK(given(script, "X.y") == "none");
  CHECK(given("torchrun --nproc_per_node 8 a.py a.b=1", "a.b") == "1");
  CHECK(of(script, "config_name") == words{"c"});
  CHECK(of(script, "flag").empty());
}

}  // namespace test_cli_argument_lines
