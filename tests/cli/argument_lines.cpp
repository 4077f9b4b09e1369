// SPDX-License-Identifier: Apache-2.0
#include "readers/argument_lines.hpp"

#include "errors.hpp"
#include "support/catch.hpp"

#include <string>
#include <utility>
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
  CHECK(of("a.py --one 1 ${A[@]} --two 2", "one") == words{"1"});  // an array of another file
  CHECK(of("A=(--one 1)\nB=(--two 2)\nA+=(\"${B[@]}\")\na.py ${A[@]}", "two") == words{"2"});
  CHECK(of("A=(--one 1)\nB+=(--two 2)\na.py ${A[@]} ${B[@]}", "two") == words{"2"});
  CHECK(of("a.py --one '$X' --two \"\\$Y\"", "two") == words{"$Y"});
  CHECK(of("A=(--one 1)\nC=\"a.py ${A[@]} --two 2\"\n$C", "one") == words{"1"});  // joined in a value
  CHECK(of("A=(1 '2 3')\na.py --one \"${A[*]}x\"", "one") == words{"1", "2", "3x"});
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
  CHECK(gpus("CUDA_VISIBLE_DEVICES=0,1,2,3 a.py --one 1") == 4);
  CHECK(gpus("CUDA_VISIBLE_DEVICES=0,1 NPROC_PER_NODE=1 swift sft --one 1") == 1);
  CHECK(gpus("CUDA_VISIBLE_DEVICES=0,1 x.py --one 1\nCUDA_VISIBLE_DEVICES=2 swift sft --one 1") == 1);
  CHECK(gpus("deepspeed --num_gpus 4 --num_nodes 2 a.py --one 1") == 8);
  CHECK(gpus("accelerate launch --num_processes 16 a.py --one 1") == 16);
  CHECK(gpus("#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\nsrun python a.py --one 1") == 32);
  CHECK(gpus("srun --nodes 2 --ntasks-per-node=4 python a.py --one 1") == 8);
  auto const lines = read_argument_lines("torchrun --standalone a.py --one 1\n", "run.sh");
  CHECK(lines.commands == words{"torchrun", "a.py"});
}

TEST_CASE("argument_lines: sums and the forms of variables") {
  auto const one = [](std::string const& script) { return of(script + "\na.py --one $X", "one"); };
  CHECK(one("N=4\nX=$((64 / N * 2))") == words{"32"});
  CHECK(one("N=4\nM=3\nX=$(( ($N + $M) % 5 ** 1 - -1 ))") == words{"3"});
  CHECK(one("N=4\nX=$(expr 16 / $N)") == words{"4"});
  CHECK(one("N=4\nX=`expr 16 \\* $N`") == words{"64"});
  CHECK(one("N=4\nX=$((N > 3 ? 7 : 8))") == words{"7"});
  CHECK(one("X=$((9223372036854775807 + 1))") == words{"$", "9223372036854775807+1"});
  CHECK(one("X=$((8 / 0))") == words{"$", "8/0"});
  CHECK(one("N=4\nX=$((N * $GAS / 8))") == words{"$", "N*$GAS/8"});  // the variable that is not known is named
  CHECK(one("X=${V:-\"2\"}") == words{"2"});
  CHECK(one("V=\nX=${V:-3}${V-4}${V:+5}${W:+6}") == words{"3"});
  CHECK(one(": ${X:=7}") == words{"7"});
  CHECK(one("V=aB\nX=${V^^}${V,,}${#V}") == words{"ABab2"});
  CHECK(one("A=(1 2 3)\nX=${A[1]}${#A[@]}$A") == words{"231"});
  CHECK(one("A=x\nA+=y\nX=$A") == words{"xy"});
  CHECK(one("X=1\nunset X") == words{"$X"});
}

TEST_CASE("argument_lines: conditions that the text decides, choices, loops and functions") {
  auto const one = [](std::string const& script) { return of(script + "\na.py --one $X", "one"); };
  CHECK(one("M=b\nif [ $M = a ]; then X=1; elif [[ $M == b* ]]; then X=2; else X=3; fi") == words{"2"});
  CHECK(one("M=4\nif [[ $M -gt 4 || ! ( -n $M ) ]]; then X=1; else X=2; fi") == words{"2"});
  CHECK(one("if [ -z ${M} ]; then X=1; else X=2; fi") == words{"1"});
  CHECK(one("X=2\n[ -n \"$M\" ] && X=1") == words{"2"});
  CHECK(one("X=2\n[ 1 = 1 ] && X=1 || X=3") == words{"1"});
  CHECK(one("X=2\nif [ $# -lt 1 ]; then X=1; exit 1; fi") == words{"2"});  // a branch that ends the script is not taken
  CHECK(one("M=b\ncase $M in\n a) X=1 ;;\n b|c) X=2;;\n *) X=3;;\nesac") == words{"2"});
  CHECK(one("case \"$1\" in a) X=1 ;; *) X=3;; esac") == words{"1"});
  CHECK(one("X=9\nwhile [ $# -gt 0 ]; do X=1; shift; done") == words{"9"});
  CHECK(one("for X in 3 4; do echo; done") == words{"3"});
  CHECK(of("for m in 3 4; do a.py --one $m; done", "one") == words{"3"});
  CHECK(of("go() {\n a.py --one $1 \"${@}\"\n}\ngo 5 6", "one") == words{"5", "5", "6"});
  CHECK(of("function go { a.py --one $1; }; go 5", "one") == words{"5"});
  CHECK(of("(cd x; a.py --one 1)", "one") == words{"1"});
}

TEST_CASE("argument_lines: commands in commands, here-documents and pages") {
  CHECK(of("bash -c 'a.py --one 1'", "one") == words{"1"});
  CHECK(of("N=3\nsrun --mpi=pmix bash -x -c \"a.py --one $N\" 2>&1 | tee log", "one") == words{"3"});
  CHECK(of("C=\"a.py --one 1\"\neval $C", "one") == words{"1"});
  CHECK(of("N=3\nsbatch <<EOF\n#!/bin/bash\n#SBATCH --nodes=2\npython a.py --one $N\nEOF\necho", "one") == words{"3"});
  auto const lines =
      read_argument_lines("N=2\ncat > ds.json <<EOF\n{\"a\": $N}\nEOF\ncat <<'E' > b.yaml\nc: $N\nE\na.py --one 1\n", "run.sh");
  CHECK(lines.documents.at("ds.json") == "{\"a\": 2}\n");
  CHECK(lines.documents.at("b.yaml") == "c: $N\n");
  CHECK(of("cat > x <<EOF\n--two 2\nEOF\na.py --one 1\n", "two") == words{"none"});
  CHECK(of("I don't know.\n```bash\na.py --one 1\n```\nIt's `so", "one") == words{"1"});
  CHECK(of("It's what I don't know\na.py --one 1", "one") == words{"1"});
  CHECK(of("a.py --one 1 \\ \n --two 2", "two") == words{"2"});  // a blank behind the backslash
  CHECK(of("a.py --pipeline-model-parallel-layout Et*3|(tt|)*2mL --two 2", "pipeline_model_parallel_layout") ==
        words{"Et*3|", "tt|", "*2mL"});
  CHECK(of("a.py --pipeline-model-parallel-layout=Et|tL --two 2", "two") == words{"2"});
}

TEST_CASE("argument_lines: a flag of an array is where the array has it") {
  auto const places = [](std::string const& text) {
    words out;
    auto const lines = read_argument_lines(text, "run.sh");
    for (auto const& entry : lines.flags.entries()) out.push_back(entry.key + " " + entry.place);
    return out;
  };
  std::string const array = "A=(\n  --one 1\n  --two\n)\nA+=(\n  --three 3)\n\n";
  CHECK(places(array + "a.py ${A[@]} --four 4") == words{"one run.sh:2", "two run.sh:3", "three run.sh:6", "four run.sh:8"});
  CHECK(places(array + "a.py \"${A[@]}\" \\\n--four 4") == words{"one run.sh:2", "two run.sh:3", "three run.sh:6", "four run.sh:9"});
}

TEST_CASE("argument_lines: of several commands the first that trains is read, and of a flag the last value") {
  auto const lines = [](std::string const& text) { return read_argument_lines(text, "run.sh"); };
  std::string const two =
      "python tools/preprocess_data.py --workers 4\nswift sft --one 1 --two 2\nswift rlhf --one 3\nswift export --two 5\n";
  CHECK(of(two, "one") == words{"1"});
  CHECK(of(two, "workers") == words{"none"});
  CHECK(lines(two).unread == words{"line 3: another training: swift rlhf"});
  CHECK(of("a.py --one 1 --one 2", "one") == words{"2"});
  CHECK(lines("a.py --one 1 --one 2").unread == words{"the first one, which is given again at run.sh:1"});
  CHECK(of("nsys profile --trace=cuda python train.py --one 1", "trace") == words{"none"});
  for (auto const& [script, sentence] :
       {std::pair{"x=1\nswift infer --adapters a", "run.sh: line 2: swift infer answers, and no command of the script trains"},
        {"python tools/preprocess_data.py --input a", "run.sh: line 1: preprocess_data.py prepares data"},
        {"torchrun --nproc_per_node 8 run_text_generation.py --seq-length 1", "run.sh: line 1: run_text_generation.py generates text"}}) {
    try {
      (void)lines(script);
      CHECK(std::string(script).empty());
    } catch (bad_input const& e) {
      CHECK(std::string(e.what()).starts_with(sentence));
    }
  }
}

TEST_CASE("argument_lines: what grows without end is refused, in time") {
  auto const refused = [](std::string const& text) {
    try {
      (void)read_argument_lines(text, "run.sh");
    } catch (bad_input const& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  std::string doubling = "A0=xxxxxxxxxxxxxxxx\n", nested = "x", calls = "f0() { a; }\n", deep;
  for (int i = 0; i < 64; ++i) {
    auto const last = std::to_string(i), next = std::to_string(i + 1);
    doubling += "A" + next + "=$A" + last + "$A" + last + "\n";
    calls += "f" + next + "() { f" + last + "; f" + last + "; f" + last + "; f" + last + "; f" + last + "; f" + last + "; }\n";
    nested = "${Y:-" + nested + "}";
    deep += "if true; then ";
  }
  CHECK(refused(doubling).find("longer than 2^16") != std::string::npos);
  CHECK(refused(nested).find("nested more deeply") != std::string::npos);
  CHECK(refused(deep).find("nested more deeply") != std::string::npos);
  CHECK(refused("X=$((" + std::string(4000, '(') + "1" + std::string(4000, ')') + "))\na.py --one $X") == "accepted");
  CHECK(refused(calls + "f8").find("what variables, loops and functions stand for is larger than any script") != std::string::npos);
  CHECK(refused("f() { f; f; }\nf\na.py --one 1") == "accepted");
  std::string arrays = "A=(";
  for (int i = 0; i < 4000; ++i) arrays += "x ";
  arrays += ")\n";
  for (int i = 0; i < 30; ++i) arrays += "A=(${A[@]} ${A[@]})\n";
  CHECK(refused(arrays).find("2^16 words") != std::string::npos);
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

TEST_CASE("argument_lines: a here-document that is read into a variable holds the words of a command") {
  auto const lines = read_argument_lines(
      "read -r -d '' words <<EOF\nopenrlhf.cli.train_sft \\\n  --data.max_len 2048 \\\n  --ds.zero_stage 2\nEOF\n"
      "if [[ ${1} != \"slurm\" ]]; then\n  deepspeed --module $words\nfi\n",
      "run.sh");
  auto flags = lines.flags;
  CHECK(flags.number("data.max_len") == 2048);
  CHECK(flags.number("ds.zero_stage") == 2);
}

TEST_CASE("argument_lines: words that read takes from a string, and rounds of loops over arrays") {
  auto const of_read = [](std::string const& text, std::string const& key) { return of(text + "\na.py --x $A --y $B --z ${C[@]}", key); };
  CHECK(of_read("IFS=',' read -r A B C <<< \"1,2,3,4\"", "x") == words{"1"});
  CHECK(of_read("IFS=',' read -r A B C <<< \"1,2,3,4\"", "z") == words{"3", "4"});  // the last name takes the rest
  CHECK(of_read("V='1,2'\nIFS=, read A B <<< $V", "y") == words{"2"});
  CHECK(of_read("read A B C <<< ' 1   2  3 '", "x") == words{"1"});
  CHECK(of_read("read A B <<< '1   2'", "y") == words{"2"});
  CHECK(of_read("IFS=: read -ra C <<< \"7:8\"", "z") == words{"7", "8"});
  CHECK(of_read("read -p 'which? ' -r A B <<< '1 2'", "x") == words{"1"});                           // an option with a value
  CHECK(of_read("A=9\nread -r A B <<< \"$MORE\"", "x") == words{"$A"});                              // nobody knows it
  CHECK(of_read("IFS=',' read -r A B <<< '1,2'\nread -r C A <<< '3 4,5'", "x") == words{"4", "5"});  // IFS was of the other command
  auto const lines = read_argument_lines(
      "ALL=(\"1,2\" \"3,4\" \"5,6\")\nfor ONE in \"${ALL[@]}\"; do\n IFS=',' read -r A B <<< \"$ONE\"\n a.py --x $A --y $B\ndone",
      "run.sh");
  CHECK(lines.flags.entries().size() == 2);
  CHECK(lines.flags.entries()[1].words == words{"2"});
  CHECK(lines.unread == words{"line 2: the other 2 rounds over ONE"});
}

TEST_CASE("argument_lines: what is taken of a condition that nobody knows is said, where it changes something") {
  auto const unread = [](std::string const& text) { return read_argument_lines(text + "\na.py --one $X", "run.sh").unread; };
  auto const holds = words{"line 2: a condition, taken to hold"};
  CHECK(unread("X=1\nif [ -f /a ]; then X=2; fi") == holds);
  CHECK(unread("X=1\n[ -f /a ] && X=2") == holds);
  CHECK(unread("X=1\nif [ \"$N\" -gt 1 ]; then X=2; fi") == holds);
  CHECK(unread("X=1\nif [ -n \"$N\" ]; then X=2; fi") == words{"line 2: a condition on what is unset, not taken"});
  CHECK(unread("X=1\nif [ -z \"$N\" ]; then X=2; fi") == words{"line 2: a condition on what is unset, taken"});
  CHECK(unread("X=1\nif [ -f /a ]; then mkdir b; fi").empty());  // it changes nothing
  CHECK(unread("X=1\nif [ -z \"$N\" ]; then echo no; exit 1; fi").empty());
  CHECK(unread("X=1\nN=3\nif [ -n \"$N\" ]; then X=2; fi").empty());
}

TEST_CASE("argument_lines: a variable for flags that is not set is no value of the switch before it") {
  auto const lines = read_argument_lines("a.py --bf16 ${EXTRA_ARGS} --one $N --sp $EXTRA", "run.sh");
  CHECK(lines.flags.entries()[0].words.empty());
  CHECK(lines.flags.entries()[1].words == words{"$N"});
  CHECK(lines.flags.entries()[2].words.empty());
  CHECK(lines.unread == words{"line 1: $EXTRA", "line 1: ${EXTRA_ARGS}"});
  CHECK(of("EXTRA=\"\"\na.py --bf16 ${EXTRA} --one 1", "bf16").empty());
}

TEST_CASE("argument_lines: a word behind the value of a flag overrides a key, though it has no section") {
  auto const lines = read_argument_lines("python a.py --recipe b precision=c d.e=1 --set f=1 g=2", "run.sh");
  CHECK(lines.flags.entries()[0].words == words{"b"});
  CHECK(lines.overrides.entries().size() == 2);
  CHECK(lines.flags.entries()[1].words == words{"f=1", "g=2"});  // values of a flag
  auto nemo = read_argument_lines("nemo llm pretrain --factory b trainer.devices=4", "run.sh");
  CHECK(nemo.overrides.word("trainer.devices") == "4");
}

}  // namespace test_cli_argument_lines
