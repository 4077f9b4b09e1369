// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"
#include "refused.hpp"

#include "support/catch.hpp"

#include <algorithm>

namespace test_cli_bad_input {

namespace {

using namespace ballast_test;

/// Exit code, nothing on standard output, and one sentence on standard error that begins as expected.
std::string const not_a_length = " is not a length: lengths are whole numbers from 1 to 2^63-1\n";
std::string const zero_length = " is not a length: lengths are whole numbers from 1 to 2^63-1; --zero-length skip leaves such rows out\n";

}  // namespace

TEST_CASE("a text that holds no lengths is refused, naming file and line", "[cli]") {
  scratch const in;
  struct bad {
    std::string bytes, sentence, options = {};
  };
  std::string const nul("7\n\0\x01\xff\n", 6);
  bad const cases[] = {
      {"", "f: there are no lengths in it"},
      {"\n \n\t\n", "f: there are no lengths in it"},
      {"length\n", "f: there are no lengths in it"},
      {"5\n-3\n", "f:2: -3" + not_a_length},
      {"5\n\n0\n6\n", "f:3: 0" + zero_length},
      {"5\r\n6\r\n00\r\n", "f:3: 0" + zero_length},
      {"5\n6.5\n", "f:2: 6.5" + not_a_length},
      {"5\n1e3\n", "f:2: 1e3" + not_a_length},
      {"5\n+6\n", "f:2: +6" + not_a_length},
      {"5\n0x10\n", "f:2: 0x10" + not_a_length},
      {"length\n5\nmany\n", "f:3: many" + not_a_length},
      {"NaN\n5\n", "f:1: NaN" + not_a_length},
      {"5\nnan\n", "f:2: nan" + not_a_length},
      {"5\ninf\n", "f:2: inf" + not_a_length},
      {"9223372036854775808\n", "f:1: 9223372036854775808" + not_a_length},
      {"5\n99999999999999999999999999\n", "f:2: 99999999999999999999999999" + not_a_length},
      {"9223372036854775807\n1\n", "f:2: the sum of all lengths reaches 2^63"},
      {nul, "f:2: \\x00\\x01\\xff" + not_a_length},
      {"\x7f"
       "ELF\n",
       "f:1: \\x7fELF" + not_a_length},
      {"5 6\n7 8\n", "f: has 2 columns; say which one holds the lengths, as in --columns 1"},
      {"id,length\n5,6\n", "f: has 2 columns (id, length); say which"},
      {"5,6\n7\n", "f:2: 1 column where the lines before have 2", "--columns 1"},
      {"5,6\n7,\n", "f:2: an empty field" + not_a_length, "--columns 2"},
      {"id,n\n\"a\nb\",5\nc,-6\n", "f:4: -6" + not_a_length, "--columns n"},
      {"5,6\n\"7\n", "f:2: a quote is opened and never closed", "--columns 1"},
      {"5,6\n\"7\"8,1\n", "f:2: text follows a closing quote", "--columns 1"},
      {"5,6\n", "f: there is no column 3 among its 2 columns", "--columns 3"},
      {"5,6\n", "f: there is no column 0 among its 2 columns", "--columns 0"},
      {"id,n,n\n5,6,7\n", "f:1: columns 2 and 3 are both called n\n", "--columns n"},
      {"\nn,id,\"n\"\n5,6,7\n", "f:2: columns 1 and 3 are both called n\n", "--columns 2"},
      {"n n\n5 6\n", "f:1: columns 1 and 2 are both called n\n", "--columns 1+2"},
      {"id,length\n5,6\n", "f: there is no column tokens among its 2 columns (id, length)", "--columns tokens"},
      {"5,6\n", "--columns 1+: a column is missing", "--columns 1+"},
      {"5,6\n", "--capacity 9223372036854775807: expected one capacity for each of 2 measures", "--columns 1,2"},
      {"5,-6\n", "f:1: -6" + not_a_length, "--columns 1+2"},
      {"0,0\n", "f:1: 0" + zero_length, "--columns 1+2"},
      {"9223372036854775807,1\n", "f:1: the columns add up to 2^63 or more", "--columns 1+2"},
      {"5\n", "f: --field is for JSON objects", "--field n"},
      {"5 1\n6 -1\n", "f:2: -1 is not a count", "--histogram"},
      {"5 0\n6 0\n", "f: there are no samples, every count is 0", "--histogram"},
      {"5\n6\n", "f: a histogram has two columns, length and count; this file has 1 column", "--histogram"},
      {"5 3\n4611686018427387904 2\n", "f:2: the sum of all lengths reaches 2^63", "--histogram"},
      {"5 1\n", "--columns of a histogram names two columns", "--histogram --columns 1"},
  };
  for (auto const& c : cases) {
    in.file("f", c.bytes);
    check_refused(in.ballast("pack f --json --capacity 9223372036854775807 " + c.options), c.sentence);
  }
}

TEST_CASE("JSON of the wrong shape is refused, naming file and entry or line", "[cli]") {
  scratch const in;
  struct bad {
    std::string bytes, sentence, options = {};
  };
  bad const cases[] = {
      {"[]", "f: there are no lengths in it"},
      {"[5, -3]", "f: entry 2: -3" + not_a_length},
      {"[5, 0]", "f: entry 2: 0" + zero_length},
      {"[5, 6.5]", "f: entry 2: 6.5" + not_a_length},
      {"[5, 9223372036854775808]", "f: entry 2: 9223372036854775808" + not_a_length},
      {"[5, 1e3]", "f: entry 2: 1e3" + not_a_length},
      {"[5, \"6\"]", "f: entry 2: \"6\"" + not_a_length},
      {"[5, null]", "f: entry 2: null" + not_a_length},
      {"[5, true]", "f: entry 2: true" + not_a_length},
      {"[5, [6]]", "f: entry 2: an array" + not_a_length},
      {"[5, NaN]", "f: not valid JSON, fault at byte 5"},
      {"[5, 6", "f: not valid JSON, fault at byte"},
      {"[5] 6", "f: not valid JSON, fault at byte"},
      {"[{\"n\": 5}]", "f: entry 1: an object; name the field that holds the length with --field"},
      {"[{\"n\": 5}, {\"m\": 5}]", "f: entry 2: the object has no field n", "--field n"},
      {"[{\"n\": 5}, {\"m\": {\"n\": 5}}]", "f: entry 2: the object has no field n", "--field n"},
      {"[{\"n\": 5}, {\"n\": \"x\"}]", "f: entry 2: \"x\" is not a length: lengths are whole numbers from 1 to 2^63-1; python -m ballast",
       "--field n"},
      {"[{\"n\": 5}, {\"n\": {}}]", "f: entry 2: an object" + not_a_length, "--field n"},
      {"[5]", "f: entry 1: a number where --field expects objects", "--field n"},
      {"[5]", "f: entry 1: a number where --columns expects objects", "--columns 1"},
      {"[{\"n\": 5}]", "f: entry 1: the object has no field m", "--columns n+m"},
      {"[{\"n\": 0}]", "f: entry 1: 0 is not a length", "--columns n"},
      {"[{\"n\": 5}]", "--field and --columns both say what is read; give one", "--columns n --field n"},
      {"[5]", "f: this is JSON, which has no columns; a histogram is read from text, CSV or .npy", "--histogram"},
      {"{\"n\": 5}\n\n{\"n\": 0}\n", "f:3: 0" + zero_length, "--field n"},
      {"{\"n\": 5}\n{\"n\": \n", "f:2: not a JSON object on one line", "--field n"},
      {"{\n \"n\": 5}\n", "f:1: not a JSON object on one line", "--field n"},
      {"{\"n\": [5]}\n", "f:1: an object; name the field"},
      {"[{\"n\": 5}, {\"n\": 6, \"n\": 7}]", "f: entry 2: the key n occurs twice in one object\n", "--field n"},
      {"{\"m\": 1, \"n\": 5}\n{\"m\": 1, \"n\": 6, \"m\": 1}\n", "f:2: the key m occurs twice in one object\n", "--field n"},
      {"[{\"n\": 5, \"of\": [{}, {\"a\": {}, \"b\": 0, \"a\": 1}]}]", "f: entry 1: the key of.a occurs twice in one object\n", "--field n"},
  };
  for (auto const& c : cases) {
    in.file("f", c.bytes);
    check_refused(in.ballast("pack f --json --capacity 9223372036854775807 " + c.options), c.sentence);
  }
}

TEST_CASE("a key that occurs twice in one object of a document is refused, and named", "[cli]") {
  scratch const in;
  in.file("f", "5\n");
  in.file("config.json", "{\"a\": {\"b\": 1}, \"text_config\": {\"hidden_size\": 64, \"vocab_size\": 9, \"hidden_size\": 128}}");
  in.file("cost.json", "{\"coefficients\": {\"constant\": 0, \"linear\": 1, \"quadratic\": 0, \"linear\": 2}}");
  in.file("levels.json", "[{\"length\": 1024, \"sp\": 1, \"recomputed_layers\": 0}, {\"length\": 2048, \"length\": 4096}]");
  check_refused(in.ballast("plan f --capacity 9 --ranks 1 --model config.json"),
                "config.json: the key text_config.hidden_size occurs twice in one object\n");
  check_refused(in.ballast("plan f --capacity 9 --ranks 1 --cost cost.json"), "cost.json: the key coefficients.linear occurs twice");
  check_refused(in.ballast("plan f --gpus 1 --levels levels.json"), "levels.json: the key length occurs twice in one object\n");
  in.file("g", "[{\"n\": 5, \"of\": [{\"n\": 1}, {\"n\": 1}]}, {\"n\": 6}]");  // in different objects
  CHECK(in.ballast("pack g --field n --capacity 9").code == 0);
}

TEST_CASE("a document that is deeper than any is refused, and ends no reader", "[cli]") {
  scratch const in;
  in.file("f", "5\n");
  auto const deep = std::string(200000, '[') + std::string(200000, ']');
  in.file("g.json", "{\"operators\": " + deep + ", \"tensors\": []}");
  in.file("s.json", "{\"execution\": \"independent\", \"ranks\": " + deep + "}\n");
  in.file("d.json", "{\"hidden_size\": " + deep + "}");
  REQUIRE(in.shell("mkdir d && cp d.json d/plan.json").code == 0);
  std::string const why = ": objects and lists are more than 512 deep in each other\n";
  check_refused(in.ballast("order g.json"), "g.json" + why);
  check_refused(in.ballast("compare f --gpus 1 --capacity 9 --plan s.json"), "s.json:1" + why);
  check_refused(in.ballast("plan f --capacity 9 --ranks 1 --model ./d.json"), "./d.json" + why);
  check_refused(in.ballast("plan f --capacity 9 --ranks 1 --cost d.json"), "d.json" + why);
  check_refused(in.ballast("plan f --gpus 1 --levels d.json"), "d.json" + why);
  check_refused(in.ballast("check d f --capacity 9"), "d/plan.json" + why);
  in.file("l.json", "[{\"n\": 5, \"x\": " + deep + "}]");  // a reader that keeps no values has no need to
  CHECK(in.ballast("stats l.json --field n").code == 0);
}

TEST_CASE("arrays and gzip that are damaged or of another kind are refused", "[cli]") {
  scratch const in;
  struct bad {
    std::string bytes, sentence, options = {};
  };
  auto const whole = npy("<i8", "(3,)", {5, 6, 7});
  auto huge = whole;
  huge[8] = huge[9] = '\xff';
  bad const cases[] = {
      {whole.substr(0, whole.size() - 1), "f: the header announces 24 bytes of data and 23 follow, the file is truncated"},
      {whole + "x", "f: the header announces 24 bytes of data and 25 follow"},
      {whole.substr(0, 40), "f: the .npy header ends early, the file is truncated"},
      {whole.substr(0, 7), "f: the .npy header ends early, the file is truncated"},
      {huge, "f: the .npy header ends early, the file is truncated"},
      {npy("<f2", "(1,)", {5}),
       "f: elements are of dtype <f2; lengths are whole numbers, i1 to i8 or u1 to u8, or f4 or f8 without a fraction\n"},
      {npy("|b1", "(1,)", {1}), "f: elements are of dtype |b1"},
      {npy("<i8", "()", {5}), "f: the array has 0 dimensions"},
      {npy("<i8", "(1, 1, 1)", {5}), "f: the array has 3 dimensions"},
      {npy("<i8", "(4611686018427387904, 4)", {5}), "f: the shape in the .npy header is too large"},
      {npy("<i8", "(0,)", {}), "f: there are no lengths in it"},
      {npy("<i8", "(2, 2)", {5, 6, 7, 8}), "f: has 2 columns; say which"},
      {npy("<i8", "(2, 2)", {5, 6, 7, 8}, "True"), "f: the array is in Fortran order", "--columns 1"},
      {npy("<i8", "(2,)", {5, -3}), "f: entry 2: -3" + not_a_length},
      {npy("<i2", "(2,)", {5, -3}), "f: entry 2: -3" + not_a_length},
      {npy("|u1", "(2,)", {5, 0}), "f: entry 2: 0" + zero_length},
      {npy("<u8", "(2,)", {5, -1}), "f: entry 2: 18446744073709551615" + not_a_length},
      {"\x1f\x8b\x08", "f: the gzip data ends early, the file is truncated"},
      {"\x1f\x8bnothing of the kind", "f: the gzip data is damaged"},
  };
  for (auto const& c : cases) {
    in.file("f", c.bytes);
    check_refused(in.ballast("pack f --json --capacity 9223372036854775807 " + c.options), c.sentence);
  }
  in.file("t", as_text(std::vector<std::int64_t>(1000, 123)));
  check_refused(in.shell("gzip -c t | head -c 30 > f; \"$B\" pack f --capacity 500"), "f: the gzip data ends early, the file is truncated");
  check_refused(in.shell("{ gzip -c t; echo 5; } > f; \"$B\" pack f --capacity 500"), "f: bytes that are not gzip follow the gzip data");
}

TEST_CASE("files that cannot be read are refused", "[cli]") {
  scratch const in;
  in.file("f", "5\n6\n");
  check_refused(in.ballast("pack nowhere --capacity 10"), "nowhere: cannot be read: No such file or directory");
  check_refused(in.ballast("pack f nowhere --capacity 10"), "nowhere: cannot be read: No such file or directory");
  check_refused(in.ballast("pack . --capacity 10"), ".: is a directory");
  check_refused(in.ballast("pack /proc/self/mem --capacity 10"), "/proc/self/mem: cannot be read: ");
  check_refused(in.shell("printf '5\\nx\\n' | \"$B\" pack - --capacity 10"), "standard input:2: x" + not_a_length);
  if (::geteuid() != 0) {  // root reads everything
    std::filesystem::permissions(in / "f", std::filesystem::perms::none);
    check_refused(in.ballast("pack f --capacity 10"), "f: cannot be read: Permission denied");
  }
}

TEST_CASE("options that mean nothing are refused", "[cli]") {
  scratch const in;
  in.file("run.sh", "--micro-batch-size 1\n");
  in.file("f", "5\n16\n");
  struct bad {
    std::string arguments, sentence;
  };
  bad const cases[] = {
      {"pack f --capacity 0", "--capacity 0: expected a whole number from 1 to 2^63-1"},
      {"pack f --capacity 9223372036854775808", "--capacity 9223372036854775808: expected a whole number from 1 to 2^63-1"},
      {"pack f --capacity -5", "--capacity -5: expected"},
      {"pack f --capacity 8kb", "--capacity 8kb: expected"},
      {"pack f --capacity ''", "--capacity an empty field: expected"},
      {"pack f --capacity 20,3", "--capacity 20,3: expected one capacity for each of 1 measure;"},
      {"pack f --capacity 20,", "--capacity an empty field: expected"},
      {"pack f --capacity 20 --ranks 0", "--ranks 0: expected"},
      {"pack f", "--capacity is required"},
      {"pack --capacity 20", "FILE is required"},
      {"pack f --capacity 20 --max-items 0", "--max-items 0: expected"},
      {"pack f --capacity 20 --multiple 0", "--multiple 0: expected"},
      {"pack f --capacity 20 --pack-count-multiple 0", "--pack-count-multiple 0: expected"},
      {"pack f --capacity 20 --seed -1", "--seed -1: expected a whole number from 0 to 2^64-1"},
      {"pack f --capacity 20 --strategy near-optimal --work 0", "--work 0: expected a whole number from 1 to 2^63-1"},
      {"pack f --capacity 20 --work 5000000000",
       "--work is that of --strategy near-optimal, which searches as long; auto searches at most a second"},
      {"pack f --capacity 20 --strategy best",
       "--strategy best: expected one of auto, next-fit, first-fit, ffd, bfd, worst-fit, ffs, bfs, online, near-optimal, isf, "
       "completion, "
       "vector-best-fit, portfolio"},
      {"pack f --capacity 20 --backend gpu", "--backend gpu: expected one of host, cuda"},
      {"pack f --capacity 20 --backend cuda --strategy ffd", "--backend cuda does not pack by --strategy ffd; --backend host does"},
      {"pack f --capacity 20,3 --columns 1,2 --backend cuda", "--backend cuda does not pack several measures"},
      {"pack f --capacity 20 --histogram --backend cuda", "--backend cuda does not pack a histogram"},
      {"pack f --capacity 20 --backend cuda --oversize alone", "--backend cuda does not take --oversize alone"},
      {"pack f --capacity 20 --backend cuda --pack-count-multiple 2", "--backend cuda does not take --pack-count-multiple"},
      {"pack f --capacity 20 --oversize drop", "--oversize drop: expected one of reject, set-aside, truncate, split, alone"},
      {"pack f --capacity 15", "f:2: 16 exceeds the capacity 15; --oversize set-aside, truncate, split or alone says"},
      {"pack f --capacity 17 --multiple 6", "f:2: 16 exceeds the capacity 17 when rounded up to a multiple of 6"},
      {"pack f --capacity 15 --multiple 20 --oversize split", "sample_multiple = 20 exceeds the capacity 15"},
      {"", "a command is required; ballast --help lists them"},
      {"repack f", "ballast has no command repack; did you mean "},
      {"generate", "generate: --like NAME --samples N is required"},
      {"generate --like nothing --samples 5", "--like nothing: no such distribution; there are "},
      {"generate --like vlm-sft --samples 0", "--samples 0: expected a whole number from 1"},
      {"stats f --capacity 5", "ballast stats has no option --capacity; "},
      {"generate --list --like vlm-sft --samples 5", "--like excludes --list\n"},
      {"generate --list --seed 5", "--seed requires --like\n"},
      {"levels f --max-length 16 --gpus 1 --table t --head-loss fused", "--head-loss excludes --table\n"},
      {"check run.sh --oversize truncate", "--oversize: is for files of lengths behind the setting, and there are none\n"},
      {"check run.sh --columns 1", "--columns: is for files of lengths behind the setting, and there are none\n"},
      {"check run.sh --capacity 9", "--capacity: is for packings, steps and shards, and run.sh is read as a setting of a framework\n"},
      {"check f", "--capacity is required for a packing: the tokens that a pack holds\n"},
      {"check f f --capacity 9 --gpus 8", "--gpus: is for settings of frameworks and shards, and f is a packing\n"},
      {"check run.sh --write megatrom", "--write megatrom: expected one of megatron, "},
      {"check run.sh --framework fsdp", "--framework fsdp: expected one of megatron, "},
  };
  for (auto const& c : cases) check_refused(in.ballast(c.arguments), c.sentence);

  in.file("g", "length\n5\n\n9\n16\n");  // a sample is named by where it stood, in whichever file
  in.file("j", "[5, 9, 16]");
  in.file("h", "5,1000\n16,1\n");
  check_refused(in.ballast("pack g f --capacity 15"), "g:5: 16 exceeds the capacity 15");
  check_refused(in.ballast("pack j --capacity 15"), "j: entry 3: 16 exceeds the capacity 15");
  check_refused(in.ballast("pack h --histogram --capacity 15"), "h:2: 16 exceeds the capacity 15");
  in.file("a", "5\n");
  in.file("b", "length\n16\n");
  check_refused(in.ballast("pack a a b --capacity 15"), "b:2: 16 exceeds the capacity 15");
}

TEST_CASE("a GPU packs as the host does, or is refused in one sentence where there is none", "[cli]") {
  scratch const in;
  REQUIRE(in.ballast("generate --like vlm-sft --samples 5000 --seed 1 --out f").code == 0);
  std::string const pack = "pack f --columns 1 --capacity 8192 --max-items 9 --json --strategy ";
  auto const here = in.ballast(pack + "bfd");
  REQUIRE(here.code == 0);
  CHECK(figures(in.ballast(pack + "bfd --backend host").out) == figures(here.out));
  auto const there = in.ballast(pack + "auto --backend cuda");
  if (there.code == 0)
    CHECK(figures(there.out) == figures(here.out));
  else if (there.code == 1)
    check_refused(there, "--backend cuda: ", 1);  // then what CUDA says of the device
  else
    check_refused(there, "this ballast was built without CUDA: configure with -DBALLAST_GPU=ON\n");
}

TEST_CASE("a demand that no plan can meet is an answer of its own: exit 3", "[cli]") {
  scratch const in;
  in.file("f", "5\n6\n7\n");
  check_refused(in.ballast("pack f --capacity 10 --pack-count-multiple 4 --json"), "no plan has a number of packs that is a multiple of 4",
                3);
  check_refused(in.ballast("pack f --capacity 10 --pack-count-multiple 4 --out plan"),
                "no plan has a number of packs that is a multiple of 4", 3);
  CHECK_FALSE(std::filesystem::exists(in / "plan"));
  in.file("h", "5 1\n6 2\n");
  check_refused(in.ballast("pack h --histogram --capacity 10 --pack-count-multiple 4 --json"),
                "no plan has a number of packs that is a multiple of 4", 3);
}

TEST_CASE("what cannot be written is said: exit 1, and no half of a plan stays", "[cli]") {
  namespace fs = std::filesystem;
  scratch const in;
  in.file("f", as_text(std::vector<std::int64_t>(5000, 7)));
  auto const on_full_disk = in.ballast("pack f --capacity 20 --json > /dev/full");
  CHECK(on_full_disk.code == 1);
  CHECK(on_full_disk.err == "standard output: cannot be written: No space left on device\n");
  CHECK(in.ballast("--help > /dev/full").code == 1);
  check_refused(in.ballast("generate --like vlm-sft --samples 5 --out /dev/full"), "/dev/full: cannot be written: No space left on device",
                1);
  check_refused(in.ballast("generate --like vlm-sft --samples 5 --out no/where"), "no/where: cannot be written: No such file", 1);
  check_refused(in.ballast("pack f --capacity 20 --out f"), "f: the folder cannot be made", 1);

  // Of several outputs, all are written or none.
  in.file("b", "id,lower,upper,size\na,0,2,4\n");
  in.file("old", "before");
  std::string const layout = "layout b --out new --svg old --report ";
  check_refused(in.ballast(layout + "no/where"), "no/where: cannot be written: No such file", 1);
  check_refused(in.ballast(layout + "/dev/full"), "/dev/full: cannot be written: No space left on device", 1);
  check_refused(in.ballast(layout + "./new"), "./new: two outputs are to be written to this file; name another one for each\n");
  check_refused(in.ballast("order --model gpt2-xl --length 8 --write-graph new --svg old --report no/where"),
                "no/where: cannot be written: No such file", 1);
  CHECK(in.shell("ls -A").out == ".err\n.out\nb\nf\nold\n");
  CHECK(read_whole(in / "old") == "before");
  CHECK(in.ballast(layout + "page").code == 0);
  CHECK(read_whole(in / "old").starts_with("<svg"));
  CHECK(in.shell("ls -A && rm b new old page").out == ".err\n.out\nb\nf\nnew\nold\npage\n");

  // A file may grow to 8 KiB here: as on a disk that fills up, not all of the plan can be written.
  std::string const limited = "trap '' XFSZ; ulimit -f 16; \"$B\" pack f --capacity 20 --out plan";
  check_refused(in.shell(limited), "plan/offsets.npy: cannot be written: ", 1);
  CHECK_FALSE(fs::exists(in / "plan"));
  CHECK(in.shell("ls -A").out == ".err\n.out\nf\n");

  REQUIRE(in.ballast("pack f --capacity 30 --out plan").code == 0);
  auto const before = read_whole(in / "plan/plan.json");
  check_refused(in.shell(limited), "plan/offsets.npy: cannot be written: ", 1);
  CHECK(read_whole(in / "plan/plan.json") == before);  // the older plan is whole
  CHECK(std::distance(fs::directory_iterator(in / "plan"), fs::directory_iterator{}) == 4);
  CHECK(in.ballast("check plan f --capacity 30").code == 0);
}

}  // namespace test_cli_bad_input
