// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"
#include "refused.hpp"

#include "fuzz/json_lengths.hpp"
#include "readers/json_fields.hpp"
#include "support/catch.hpp"

#include <ballast/core/random.hpp>

#include <nlohmann/json.hpp>

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace test_cli_forgiving {

namespace {

using namespace ballast_test;

/// A .npy file of floats, whose bits are the values.
std::string floats(std::vector<double> const& values) {
  std::vector<std::int64_t> bits;
  bits.reserve(values.size());
  for (auto const v : values) bits.push_back(std::bit_cast<std::int64_t>(v));
  auto file = npy("<i8", "(" + std::to_string(values.size()) + ",)", bits);
  file.replace(file.find("<i8"), 3, "<f8");
  return file;
}

}  // namespace

TEST_CASE("lengths are read as people have them", "[cli]") {
  scratch const in;
  in.file("plain", "5\n9\n7\n");
  auto const expected = in.ballast("stats plain --json").out;
  REQUIRE(expected.starts_with("{\"samples\":3,"));
  struct form {
    std::string bytes, options = {};
  };
  form const forms[] = {
      {",tokens\n0,5\n1,9\n2,7\n"},  // as pandas writes it, whose index has no name
      {",tokens\n0,5\n1,9\n2,7\n", "--columns tokens"},
      {",a,b\n0,2,3\n1,9,0\n2,3,4\n", "--columns a+b"},
      {"\ttokens\n0\t5\n1\t9\n2\t7\n"},
      {"name\ttokens\na b\t5\nc\t9\nd e f\t7\n", "--columns tokens"},
      {"a b\t5\nc\t9\nd e f\t7\n", "--columns 2"},
      {"a\tb\n\t5\nx\t9\n\t7\n", "--columns b"},
      {"1  5\n2  9\n3  7\n", "--columns 2"},
      {"1\t5  2\n2\t9  2\n3\t7 2\n", "--columns 2"},  // numbers between any blanks
      {"id;tokens\n1;5\n2;9\n3;7\n", "--columns tokens"},
      {"id,tokens\npart 1,5\npart 2,9\npart 3,7\n", "--columns 2"},
      {"\"part 1\",5\npart 2,9\npart 3,7\n", "--columns 2"},
      {"part one,5\npart 2,9\npart 3,7\n", "--columns 2"},
      {"\"a;b\";tokens\n\"1;2\";5\n2;9\n3;7\n", "--columns tokens"},
      {"5.0\n9.\n7.000\n"},
      {"[5.0, 9.0, 7]"},
      {floats({5, 9, 7})},
      {"{\"n\": 5.0}\n{\"n\": 9}\n{\"n\": 7}\n", "--field n"},
      {"{\"a\": 2, \"b\": 3}\n{\"a\": 9, \"b\": 0}\n{\"b\": 7, \"a\": 0}\n", "--field a+b"},
      {"{\"meta\": {\"n\": 5}}\n{\"n\": 1, \"meta\": {\"x\": [], \"n\": 9}}\n{\"meta\": {\"n\": 7}}\n", "--field meta.n"},
      {"[{\"meta\": {\"n\": 5}}, {\"n\": 1, \"meta\": {\"x\": [{\"n\": 3}], \"n\": 9}}, {\"meta\": {\"n\": 7}}]", "--field meta.n"},
      {"{\"meta.n\": 5}\n{\"meta.n\": 9}\n{\"meta\": {\"n\": 7}}\n", "--field meta.n"},
      {"{\"ids\": [1, 2, 3, 4, 5]}\n{\"ids\": [[1, 2], {}, \"a\", null, 1.5, -1, true, 0, []]}\n{\"ids\": [7, 7, 7, 7, 7, 7, 7]}\n",
       "--field ids"},
      {"[{\"ids\": [1, 2, 3, 4, 5]}, {\"ids\": [[1, 2], {}, \"a\", null, 1.5, -1, true, 0, []]}, {\"ids\": [7, 7, 7, 7, 7, 7, 7]}]",
       "--field ids"},
      {"5\n0\n9\n7\n0\n", "--zero-length skip"},
      {"[5, 0, 9, 7, 0]", "--zero-length skip"},
      {"{\"ids\": []}\n{\"ids\": [1,2,3,4,5]}\n{\"ids\":[1,2,3,4,5,6,7,8,9]}\n{\"ids\":[0,0,0,0,0,0,0]}\n",
       "--field ids --zero-length skip"},
  };
  for (auto const& f : forms) {
    CAPTURE(f.bytes, f.options);
    in.file("f", f.bytes);
    auto const o = in.ballast("stats f --json " + f.options);
    CHECK(o.code == 0);
    auto out = o.out;
    if (auto const at = out.find("\"zero_length\""); at != std::string::npos) out.erase(at, out.find(']', at) + 2 - at);
    CHECK(out == expected);
  }
}

TEST_CASE("two measures of JSON objects are read by name", "[cli]") {
  scratch const in;
  in.file("c", "images,text\n2,50\n0,70\n1,30\n");
  in.file("j", "{\"images\": [\"a\", \"b\"], \"text\": 50}\n{\"images\": [], \"text\": 70}\n{\"images\": [\"c\"], \"text\": 30}\n");
  std::string const pack = " --capacity 2,100 --json";
  auto const expected = in.ballast("pack c --columns images,text" + pack);
  REQUIRE(expected.code == 0);
  CHECK(figures(in.ballast("pack j --field images,text" + pack).out) == figures(expected.out));
  check_refused(in.ballast("pack j --field images, --capacity 2,100"), "--field images,: a field is missing; fields are names");
}

TEST_CASE("a row of length 0 is refused, or left out and counted", "[cli]") {
  scratch const in;
  in.file("f", "length\n5\n0\n9\n0\n7\n");
  in.file("h", "5,2\n0,3\n9,1\n");
  in.file("m", "1,5\n0,0\n2,9\n");
  check_refused(in.ballast("pack f --capacity 10"),
                "f:3: 0 is not a length: lengths are whole numbers from 1 to 2^63-1; --zero-length skip leaves such rows out\n");
  check_refused(in.ballast("pack m --columns 1,2 --capacity 9,9"),
                "m:2: every measure is 0; a sample needs one that is not; --zero-length skip leaves such rows out\n");
  auto const o = in.ballast("stats f --zero-length skip --json");
  CHECK(o.err == "f:3: the first of 2 samples of length 0, left out; samples are numbered without them\n");
  CHECK(o.out.starts_with("{\"samples\":3,\"zero_length\":[1,3],\"tokens\":21,"));
  CHECK(in.ballast("pack f --capacity 10 --zero-length skip --json").out.find("\"zero_length\":[1,3]") != std::string::npos);
  CHECK(in.ballast("plan f --capacity 10 --ranks 1 --zero-length skip --json").out.find("\"zero_length\":[1,3]") != std::string::npos);
  CHECK(in.ballast("pack m --columns 1,2 --capacity 9,9 --zero-length skip --json").out.find("\"zero_length\":[1]") != std::string::npos);
  CHECK(in.ballast("stats h --histogram --zero-length skip").err.starts_with("h:2: the first of 3 samples of length 0, left out"));
  CHECK(in.ballast("stats h --histogram --zero-length skip").out.find("of length 0, left out  3\n") != std::string::npos);
  in.file("g", "0\n5\n0\n99\n");  // rows behind one that was left out keep their place
  check_refused(in.ballast("pack g --capacity 10 --zero-length skip 2>&1 >/dev/null | tail -1 >&2; exit 2"),
                "g:4: 99 exceeds the capacity 10");
}

TEST_CASE("what is not a length is refused in the forms that are forgiven, too", "[cli]") {
  scratch const in;
  struct bad {
    std::string bytes, sentence, options = {};
  };
  std::string const why = " is not a length";
  bad const cases[] = {
      {"5\n6.5\n", "f:2: 6.5" + why},
      {"5\n6.0e1\n", "f:2: 6.0e1" + why},
      {"5\n.0\n", "f:2: .0" + why},
      {"[5, 6.5]", "f: entry 2: 6.5" + why},
      {floats({5, 6.5}), "f: entry 2: 6.5" + why},
      {floats({5, -1}), "f: entry 2: -1" + why},
      {floats({5, 0x1p63}), "f: entry 2: 9.2233720368547758e+18" + why},
      {"{\"a.b\": 5, \"a\": {\"b\": 6}}\n", "f:1: a.b is a key of its own and a field of an object; rename one", "--field a.b"},
      {"{\"n\": {\"n\": 6}}\n", "f:1: an object" + why, "--field n"},
      {"{\"n\": [1, 2}\n", "f:1: not a JSON object on one line", "--field n"},
      {"{\"n\": [[5]], \"m\": [{\"a\": 1, \"a\": 2}]}\n", "f:1: the key m.a occurs twice in one object", "--field n"},
      {"name\ttokens\na b\t5 6\n", "f:2: 5 6" + why, "--columns tokens"},
      {",tokens,rest\n0,5,6\n", "f: has 3 columns (no name, tokens, rest); say which"},
      {"utt 512,80\n", "f:1: utt 512 may be one column or several, as both blanks and other separators are in the line; quote it, or",
       "--columns 2"},
      {"utt 512;80\n", "f:1: utt 512 may be", "--columns 2"},
      {"a utt 512\t80\n", "f:1: a utt 512 may be", "--columns 2"},
      {"7,utt 512\n", "f:1: utt 512 may be", "--columns 1"},
  };
  for (auto const& c : cases) {
    in.file("f", c.bytes);
    check_refused(in.ballast("pack f --capacity 100 " + c.options), c.sentence);
  }
}

TEST_CASE("the scan of a line takes nothing that a complete parser refuses, and reads the same", "[cli]") {
  ballast_cli::selection select;
  select.fields = {{"n"}, {"a.b"}};
  ballast_cli::wanted_fields const fields(select);
  ballast_cli::field_scan scan(fields);
  std::vector<std::optional<std::int64_t>> found;
  CHECK(scan("{\"n\": 5, \"a\": {\"b\": [1, 2]}, \"text\": \"\\u00e9 \xc3\xa9 long enough for a block \\n\"}", found));
  CHECK((found[0] == 5 && found[1] == 2));
  std::string const base =
      "{\"n\": 50, \"a\": {\"b\": [1, {\"c\": -1.5}], \"d\": null}, \"text\": \"\\u00e9 \xe2\x82\xac\\\\ \\\" plain text\", \"t\": true}";
  REQUIRE(scan(base, found));
  ballast::splitmix64 draw(7);
  auto taken = 0;
  for (auto round = 0; round < 20000; ++round) {
    auto line = base;
    for (auto slips = draw() % 3 + 1; slips > 0; --slips) {
      auto const at = static_cast<std::size_t>(draw() % line.size());
      constexpr std::string_view letters = "{}[]\",:\\0159.-eEu tfn\x80\xc3\xed\xa0\x1f";
      auto const letter = letters[static_cast<std::size_t>(draw() % letters.size())];
      switch (draw() % 3) {
        case 0: line[at] = letter; break;
        case 1: line.insert(at, 1, letter); break;
        default: line.erase(at, 1);
      }
    }
    if (!scan(line, found)) continue;
    ++taken;
    CAPTURE(line);
    auto const json = nlohmann::json::parse(line, nullptr, false);
    REQUIRE(json.is_object());
    auto const value = [](nlohmann::json const& v) { return v.is_array() ? static_cast<std::int64_t>(v.size()) : v.get<std::int64_t>(); };
    CHECK(value(json["n"]) == found[0]);
    CHECK(value(json.contains("a.b") ? json["a.b"] : json["a"]["b"]) == found[1]);
  }
  CHECK(taken > 1000);
}

TEST_CASE("JSON of any structure is read, or refused, as a plain parser would", "[cli]") {
  using namespace ballast_cli;
  ballast::splitmix64 draw(11);
  auto taken = 0, refused = 0;
  for (auto round = 0; round < 20000; ++round) {
    auto const& select = fuzz::asked_of(static_cast<std::size_t>(round));
    std::vector<std::uint8_t> decisions(static_cast<std::size_t>(draw() % 60));
    for (auto& d : decisions) d = static_cast<std::uint8_t>(draw());
    auto const text = fuzz::json_writer(decisions).document(select);
    table rows(select.asked() + (select.histogram ? 1 : 0), select.histogram);
    auto read = true;
    try {
      append_lengths(rows, text, "input", select);
    } catch (bad_input const&) {
      read = false;
    }
    ++(read ? taken : refused);
    CAPTURE(text);
    REQUIRE(fuzz::difference(text, select, read ? &rows : nullptr) == "");
  }
  CHECK(taken > 4000);
  CHECK(refused > 4000);
  scratch const in;  // an array of objects counts them, but turns of a conversation only where that is asked
  in.file("f", R"([{"images": [{"path": "a"}, {"path": "b"}], "n": 1}])");
  CHECK(in.ballast("stats f --json --field images").out.find("\"tokens\":2,") != std::string::npos);
  for (std::string const name : {"role", "from"})
    for (std::string const end : {"]", ""}) {  // of an array of objects, and of an object a line
      in.file("f",
              std::string(end.empty() ? "" : "[") + R"({"c": [{"value": "a", ")" + name + R"(": "user"}, {"value": "b"}], "n": 1})" + end);
      CHECK(in.ballast("stats f --json --field c --turns").out.find("\"tokens\":2,") != std::string::npos);
      check_refused(in.ballast("stats f --field c"), end.empty() ? "f:1: c is a conversation; --turns counts its turns; python -m ballast, "
                                                                   "in place of ballast, counts its tokens by --tokenizer tokenizer.json "
                                                                   "--text-field c\n"
                                                                 : "f: entry 1: c is a conversation; --turns");
    }
  in.file("f", R"({"text": "Twice two"})");
  check_refused(in.ballast("stats f --field text"),
                "f:1: \"Twice two\" is not a length: lengths are whole numbers from 1 to 2^63-1; python -m ballast");
}

TEST_CASE("numbers and names of options are read as people write them", "[cli]") {
  scratch const in;
  in.file("f", as_text(std::vector<std::int64_t>(500, 77)));
  auto const same = [&](std::string const& a, std::string const& b) {
    auto const x = in.ballast(a), y = in.ballast(b);
    CAPTURE(a, x.err, b, y.err);
    CHECK(x.code == 0);
    CHECK(figures(x.out) == figures(y.out));
  };
  same("pack f --json --capacity 8k", "pack f --json --capacity 8000");
  same("pack f --json --capacity 8Ki", "pack f --json --capacity 8192");
  same("pack f --json --capacity 8k --strategy BFD", "pack f --json --capacity 8000 --strategy bfd");
  std::string const plan = "plan f --json --capacity 800 --ranks 2 ";
  same(plan + "--device H100 --model Llama-3.1-8B", plan + "--device h100 --model llama-3.1-8b");
  same(plan + "--mfu 35", plan + "--mfu 0.35");
  same(plan + "--mfu 35%", plan + "--mfu 0.35");
  same(plan + "--stages 2 --memory 80GB --schedule ZBV --optimizer ADAM",
       plan + "--stages 2 --memory 80000000000 --schedule zbv --optimizer adam");
  same(plan + "--stages 2 --memory 72GiB", plan + "--stages 2 --memory 72Gi");
  struct bad {
    std::string arguments, sentence;
  };
  bad const cases[] = {
      {"pack f --capacity 8K", "--capacity 8K: may mean 8k, thousands, or 8Ki, which is 8 times 1024\n"},
      {"pack f --capacity 8kk", "--capacity 8kk: expected a whole number"},
      {"pack f --capacity k", "--capacity k: expected a whole number"},
      {"pack f --capacity 9223372036854775807k", "--capacity 9223372036854775807k: expected a whole number from 1 to 2^63-1\n"},
      {plan + "--stages 2 --memory 80G",
       "--memory 80G: expected a whole number of bytes; 80G may mean 80GB, powers of 1000, or 80GiB, powers of 1024\n"},
      {plan + "--mfu 1.5", "--mfu 1.5: may be a share above 1, which there is not, or a percentage; write 1.5% if you mean that\n"},
      {plan + "--mfu 400", "--mfu 400: expected a share, as in 0.4, or a percentage, as in 40\n"},
  };
  for (auto const& c : cases) check_refused(in.ballast(c.arguments), c.sentence);
}

TEST_CASE("a global batch is given in packs or tokens, and an epoch has an order of its own", "[cli]") {
  scratch const in;
  std::string text;
  ballast::splitmix64 draw(3);
  for (auto i = 0; i < 300; ++i) text += std::to_string(draw() % 90 + 10) + "\n";
  in.file("f", text);
  std::string const plan = "plan f --json --capacity 100 --ranks 4 ";
  auto const expected = figures(in.ballast(plan + "--micro-batches 3").out);
  REQUIRE(expected.find("\"micro_batches\":3") != std::string::npos);
  CHECK(figures(in.ballast(plan + "--global-batch 12").out) == expected);
  CHECK(figures(in.ballast(plan + "--global-batch-tokens 1200").out) == expected);
  check_refused(in.ballast(plan + "--global-batch 10"), "--global-batch 10: is no multiple of --ranks 4; 8 and 12 are\n");
  check_refused(in.ballast(plan + "--global-batch 3"), "--global-batch 3: is no multiple of --ranks 4; 4 is\n");
  check_refused(in.ballast(plan + "--global-batch-tokens 1250"),
                "--global-batch-tokens 1250: is no multiple of --capacity 100; 1200 and 1300 are\n");
  CHECK(figures(in.ballast(plan + "--micro-batches 3 --epoch 0").out) == expected);
  CHECK(figures(in.ballast(plan + "--micro-batches 3 --epoch 1").out) != expected);
  CHECK(figures(in.ballast(plan + "--micro-batches 3 --left-over SPLIT").out) == expected);
  for (std::string const rest : {"drop", "repeat"}) {
    auto const json = nlohmann::json::parse(in.ballast(plan + "--micro-batches 7 --left-over " + rest).out);
    auto const key = rest == "drop" ? "dropped" : "repeated";
    REQUIRE(json.contains(key));
    CHECK_FALSE(json[key].empty());
    CHECK(in.ballast("plan f --capacity 100 --ranks 4 --micro-batches 7 --out d --left-over " + rest).code == 0);
    CHECK(in.ballast("check d f --capacity 100").code == 0);
    auto const words = in.ballast("plan f --capacity 100 --ranks 4 --micro-batches 7 --left-over " + rest).out;
    CHECK(words.find(std::to_string(json[key].size()) + " sample") != std::string::npos);
  }
}

TEST_CASE("a device of one's own plans as the preset of the same figures does", "[cli]") {
  scratch const in;
  in.file("f", as_text(std::vector<std::int64_t>(200, 700)));
  auto const times = [&](std::string const& options) {
    auto const o = in.ballast("plan f --json --capacity 1400 --ranks 2 --micro-batches 4 " + options);
    CAPTURE(options, o.err);
    REQUIRE(o.code == 0);
    return nlohmann::json::parse(o.out)["modelled_step_ms"].get<double>();
  };
  CHECK(times("--tflops 989.4") == times("--device h100 --mfu 0.4"));  // without a memory whose rate kernels depend on
  CHECK(times("--tflops 494.7") == 2 * times("--device h100 --mfu 0.4"));
  CHECK(times("--tflops 989.4 --memory-bandwidth 1000GB") > times("--tflops 989.4 --memory-bandwidth 3350GB"));
  CHECK(times("--mfu 0.4 --stages 2 --tflops 989.4 --memory 79GB --memory-bandwidth 3350GB --bandwidth 900GB") ==
        times("--mfu 0.4 --stages 2 --memory 79GB"));
  std::string const plan = "plan f --capacity 1400 --ranks 2 ";
  check_refused(in.ballast(plan + "--stages 2 --tflops 400"), "--tflops requires --memory where stages are planned\n");
  check_refused(in.ballast(plan + "--stages 2 --tflops 400 --memory 80GB --memory-bandwidth 2TB"),
                "--tflops requires --bandwidth where stages are planned\n");
  check_refused(in.ballast(plan + "--tflops 0"), "--tflops 0: expected are TFLOP/s from 0.001 to 10^6\n");
  check_refused(in.ballast(plan + "--tflops 400 --device h100"), "--");
}

TEST_CASE("stats show a histogram, rare lengths and what exceeds common capacities", "[cli]") {
  scratch const in;
  std::string text;
  for (auto i = 0; i < 1996; ++i) text += "100\n";
  in.file("f", text + "600\n600\n3000\n5000\n");
  auto const json = nlohmann::json::parse(in.ballast("stats f --json").out);
  CHECK(json["p99"] == 100);
  CHECK(json["p99.9"] == 600);
  std::uint64_t samples = 0;
  std::int64_t sum = 0;
  for (auto const& bar : json["histogram"]) {
    samples += bar["samples"].get<std::uint64_t>();
    sum += bar["sum"].get<std::int64_t>();
  }
  CHECK(samples == 2000);
  CHECK(sum == json["tokens"]);
  CHECK(json["histogram"].size() == 7);  // from 64 to 4096
  CHECK(json["histogram"][0] == nlohmann::json({{"from", 64}, {"samples", 1996}, {"sum", 199600}}));
  CHECK(json["above"].size() == 4);  // 512 to 4096
  CHECK(json["above"][0]["samples"] == 4);
  CHECK(json["above"][3]["sum"] == 5000);
  CHECK(json["above"][3]["share_of_samples"] == 0.0005);
  auto const words = in.ballast("stats f").out;
  CHECK(words.find("p99.9     600\n") != std::string::npos);
  CHECK(words.find("64           1,996   95.59 %  ########################################\n") != std::string::npos);
  CHECK(words.find("4,096          0.05 %    2.39 %\n") != std::string::npos);
}

TEST_CASE("help says of each option its kind, its default and its group, and shows an example", "[cli]") {
  scratch const in;
  auto const all = in.ballast("--help").out;
  for (std::string const group : {"Plan the data:", "Plan the model:", "Plan memory:", "Describe and check:"})
    CHECK(all.find("\n" + group + "\n") != std::string::npos);
  for (std::string const command : {"pack", "plan", "levels", "calibrate", "check", "capacities", "partition", "recompute", "offload",
                                    "simulate", "layout", "order", "experts", "shard", "stats", "compare", "schedule", "generate"}) {
    CAPTURE(command);
    CHECK((all.find("\n  " + command + " ") != std::string::npos || all.find("\n  " + command + ", ") != std::string::npos));
    auto const help = in.ballast(command + " --help").out;
    auto const example = help.substr((std::min)(help.find("Example:\n  ballast "), help.size()));
    REQUIRE(!example.empty());
    CHECK(example.find("ballast " + command + " ") != std::string::npos);
    for (auto at = example.find(" --"); at != std::string::npos; at = example.find(" --", at + 1)) {
      auto const option = example.substr(at + 1, example.find_first_of(" \n", at + 1) - at - 1);
      CAPTURE(option);
      CHECK(help.find("\n  " + option + " ") < help.size() - example.size());  // the example's options are there
    }
    CHECK(help.find(" TEXT") == std::string::npos);  // every value has a kind
    std::string entry;
    for (std::size_t at = help.find("Options:"), stop = 0; at < help.size() - example.size(); at = stop + 1) {
      stop = (std::min)(help.find('\n', at), help.size());
      auto const line = help.substr(at, stop - at);
      if (line.starts_with("  --") || !line.starts_with("   ")) {
        auto const kind = entry.substr((std::min)(entry.find(' ', 2) + 1, entry.size()));
        auto const flag = kind.starts_with(' ') || kind.starts_with("Needs:") || kind.starts_with("Excludes:");
        CAPTURE(entry);
        if (entry.starts_with("  --") && !flag)
          CHECK((entry.find("default") != std::string::npos || entry.find("REQUIRED") != std::string::npos));
        entry.clear();
      }
      entry += line;
    }
  }
  CHECK(in.ballast("simulate --help").out.find("\n  --attention PERCENT ") != std::string::npos);
}

}  // namespace test_cli_forgiving
