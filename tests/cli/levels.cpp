// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"
#include "refused.hpp"

#include "support/catch.hpp"

#include <ballast/core/classes.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/sequence_parallel.hpp>
#include <ballast/levels/choose.hpp>
#include <ballast/levels/plan.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace test_cli_levels {

namespace {

using namespace ballast_test;
using nlohmann::json;

/// 1 to 2,000 tokens, and one sample in fifty up to 65,536.
std::vector<std::int64_t> long_context(std::size_t n) {
  ballast::splitmix64 draw(21);
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < n; ++i) {
    auto const is_long = ballast::uniform_below(50, draw) == 0;
    out.push_back(1 + static_cast<std::int64_t>(ballast::uniform_below(is_long ? 65536 : 2000, draw)));
  }
  return out;
}

ballast::sequence_parallel_setup const on_16{
    .model = ballast::transformer_preset("llama-3.1-8b"),
    .devices = 16,
    .kernels = ballast::time_setting{.rates = ballast::kernels_for(ballast::device_named("h100"))}};
std::vector<std::int64_t> const halves{65536, 32768, 16384, 8192, 4096, 2048, 1024};
std::vector<std::uint32_t> const degrees{1, 2, 4, 8, 16};

std::vector<ballast::level> levels_in(json const& object) {
  std::vector<ballast::level> out;
  for (auto const& l : object["levels"]) out.push_back({l["length"], l["sp"], l["recomputed_layers"]});
  return out;
}

}  // namespace

TEST_CASE("levels prints the exact choice and what its plan is worth", "[cli]") {
  scratch const in;
  auto const lengths = long_context(4000);
  in.file("f", as_text(lengths));
  auto const o = in.ballast("levels f --max-length 65536 --gpus 16 --json");
  CAPTURE(o.err);
  REQUIRE(o.code == 0);
  auto const got = json::parse(o.out);
  auto const choice = ballast::choose_levels(ballast::fold(lengths), ballast::modelled_levels(on_16, halves, degrees), 3);
  auto const plan = ballast::plan_levels(lengths, choice.levels, {.devices = 16});
  std::vector<ballast::level> wanted;
  for (auto const& l : choice.levels) wanted.push_back(l.setting);
  CHECK(levels_in(got) == wanted);
  double share = 0;
  std::uint64_t packs = 0;
  for (auto const& l : got["levels"]) {
    share += l["share"].get<double>();
    packs += l["packs"].get<std::uint64_t>();
  }
  CHECK_THAT(share, Catch::Matchers::WithinRel(1.0, 1e-12));
  CHECK(packs == plan.figures.packs);
  CHECK(got["cr"] == plan.figures.communication_ratio);
  CHECK(got["abr"] == plan.figures.attention_ratio);
  CHECK(got["rule"] == "exact");
  CHECK(got["modelled_speedup"] == plan.figures.speedup_over(ballast::compare_levels(lengths, plan, {.devices = 16}).naive));
  CHECK(got["modelled_speedup"] == got["naive"]["modelled_seconds"].get<double>() / got["planned"]["modelled_seconds"].get<double>());
  CHECK(got["modelled_speedup"] > 1.0);
  CHECK(got["at_volume"]["optimal"] == true);
  CHECK_THAT(got["at_volume"]["modelled_seconds"].get<double>(),
             Catch::Matchers::WithinRel(static_cast<double>(choice.time.value) / 16e9, 1e-12));

  auto const words = in.ballast("levels f --max-length 65536 --gpus 16").out;
  CHECK(words.find(
            "f: 4,000 samples on 16 GPUs; llama-3.1-8b on h100 at the rates of its kernels, each 1.54 times as long, as HBP measured.\n") ==
        0);
  CHECK(in.ballast("levels f --max-length 65536 --gpus 16 --mfu 0.383")
            .out.find("; llama-3.1-8b on h100 at 38.3 % of its dense bfloat16 peak.\n") != std::string::npos);
  CHECK(words.find("Modelled, the plan is ") != std::string::npos);
  CHECK(words.find(" takes less time (proof: all are compared).\n") != std::string::npos);
  CHECK(got["levels"].size() <= 3);
}

TEST_CASE("levels reads histograms and columns, and knows the limits it is given", "[cli]") {
  scratch const in;
  auto const lengths = long_context(2000);
  in.file("f", as_text(lengths));
  std::string rows, two;
  auto const h = ballast::fold(lengths);
  std::vector<std::int64_t> sorted = lengths;
  std::sort(sorted.begin(), sorted.end());
  in.file("sorted", as_text(sorted));
  for (std::size_t i = 0; i < h.lengths.size(); ++i) rows += std::to_string(h.lengths[i]) + "," + std::to_string(h.counts[i]) + "\n";
  for (auto const l : lengths) two += std::to_string(l - 1) + " 1\n";
  in.file("h", rows);
  in.file("two", two);
  std::string const shape = " --max-length 65536 --gpus 16 --json";
  auto const plain = figures(in.ballast("levels f" + shape).out);
  CHECK(figures(in.ballast("levels h --histogram" + shape).out) == figures(in.ballast("levels sorted" + shape).out));
  CHECK(figures(in.ballast("levels two --columns 1+2" + shape).out) == plain);
  CHECK(figures(in.ballast("levels f --max-levels 3" + shape).out) == plain);
  CHECK(levels_in(json::parse(in.ballast("levels f --max-levels 2" + shape).out)).size() == 2);
  CHECK(in.ballast("levels f --max-length 65536 --gpus 16 --max-levels 2").out.find("no choice of at most 2 levels among ") !=
        std::string::npos);
  CHECK(levels_in(json::parse(in.ballast("levels f --max-levels 1" + shape).out)).size() == 1);

  auto const cut = json::parse(in.ballast("levels f --max-length 10000 --gpus 16 --oversize split --json").out);
  CHECK(levels_in(cut).back().capacity == 10000);
  auto const aside = json::parse(in.ballast("levels f --max-length 10000 --gpus 16 --oversize set-aside --json").out);
  CHECK(aside["set_aside"] == std::count_if(lengths.begin(), lengths.end(), [](auto l) { return l > 10000; }));
  auto const slow = json::parse(in.ballast("levels f --mfu 0.2" + shape).out);
  CHECK(slow["planned"]["modelled_seconds"] > json::parse(in.ballast("levels f" + shape).out)["planned"]["modelled_seconds"]);
  CHECK(slow["device"] == "h100 at 20 % of its dense bfloat16 peak");
  auto const other = json::parse(in.ballast("levels f --model gpt2-xl --device b200" + shape).out);
  for (auto const& l : levels_in(other)) CHECK(l.sp == 1);  // 25 heads are shared out among no GPUs
}

TEST_CASE("levels by the rule of HBP has the longest length, and is never better at volume than the exact choice", "[cli]") {
  scratch const in;
  in.file("f", as_text(long_context(3000)));
  auto const got = json::parse(in.ballast("levels f --max-length 131072 --gpus 32 --rule hbp --json").out);
  CHECK(got["rule"] == "hbp");
  auto const levels = levels_in(got);
  CHECK(levels.back().capacity == 131072);
  CHECK(levels.front().sp == 1);
  CHECK(got["at_volume"]["gap"] >= 0.0);
  auto const exact = json::parse(in.ballast("levels f --max-length 131072 --gpus 32 --max-levels 99 --json").out);
  CHECK(got["at_volume"]["lower_bound"] == exact["at_volume"]["modelled_seconds"]);
  CHECK(got["at_volume"]["modelled_seconds"] >= exact["at_volume"]["modelled_seconds"]);
}

TEST_CASE("levels from a profile: the model's own times change nothing, and faster rows win", "[cli]") {
  scratch const in;
  in.file("f", as_text(long_context(3000)));
  std::string const shape = " --max-length 65536 --gpus 16 --json";
  auto const modelled = json::parse(in.ballast("levels f" + shape).out);
  std::string own = "length,sp,recomputed_layers,milliseconds\n", fast = "length sp recomputed_layers ms memory\n";
  for (auto const& [at, time] : ballast::modelled_levels(on_16, halves, degrees)) {
    auto const ns = time(1, at.capacity, at.capacity * at.capacity);
    auto const row = std::to_string(at.capacity) + "," + std::to_string(at.sp) + "," + std::to_string(at.recomputed_layers) + ",";
    own += row + std::to_string(static_cast<double>(ns) / 1e6 / at.sp) + "\n";
    if (at.capacity == 65536) fast += row + "9000 70\n";
  }
  fast += "32768;4;12;1;79.5\n16384;2;3;0.5;90\n";  // the last one does not fit
  in.file("own.csv", own);
  in.file("fast.csv", fast);
  auto const same = json::parse(in.ballast("levels f --table own.csv" + shape).out);
  CHECK(levels_in(same) == levels_in(modelled));
  CHECK_THAT(same["planned"]["modelled_seconds"].get<double>(),
             Catch::Matchers::WithinRel(modelled["planned"]["modelled_seconds"].get<double>(), 1e-3));
  auto const quick = levels_in(json::parse(in.ballast("levels f --table fast.csv" + shape).out));
  REQUIRE(quick.size() >= 2);
  CHECK(quick.back().capacity == 65536);
  CHECK(quick[quick.size() - 2] == ballast::level{32768, 4, 12});
  for (auto const& l : quick) CHECK(l.capacity != 16384);
}

TEST_CASE("levels refuses what it cannot use, in one sentence", "[cli]") {
  scratch const in;
  in.file("f", "5\n5000\n");
  struct bad {
    std::string arguments, sentence;
  };
  bad const cases[] = {
      {"levels f --gpus 8", "--max-length is required"},
      {"levels f --max-length 8192", "--gpus is required"},
      {"levels f --max-length 0 --gpus 8", "--max-length 0: expected a whole number from 1"},
      {"levels f --max-length 8192 --gpus 0", "--gpus 0: expected a whole number from 1 to 2^32-1"},
      {"levels f --max-length 8192 --gpus 2000000", "devices = 2000000 must be in 1 ... 2^20"},
      {"levels f --max-length 4294967296 --gpus 8", "capacity = 4294967296 must be in 1 ... 2^31 - 1"},
      {"levels f --max-length 4096 --gpus 8", "f:2: 5000 exceeds the capacity 4096; --oversize set-aside, truncate or split says"},
      {"levels f --max-length 4096 --gpus 8 --oversize alone", "--oversize alone: expected one of reject, set-aside, truncate, split"},
      {"levels f --max-length 8192 --gpus 8 --rule best", "--rule best: expected one of exact, hbp"},
      {"levels f --max-length 8192 --gpus 8 --rule hbp --max-levels 2", "--max-levels is for --rule exact"},
      {"levels f --max-length 8192 --gpus 8 --max-levels 0", "--max-levels 0: expected"},
      {"levels f --max-length 8192 --gpus 8 --model gpt-9", "--model gpt-9: there is no such file or preset; "},
      {"levels f --max-length 8192 --gpus 8 --device abacus", "--device abacus: expected one of v100"},
      {"levels f --max-length 8192 --gpus 8 --mfu 0", "--mfu 0: expected a share of the peak from 0.001 to 1"},
      {"levels f --max-length 8192 --gpus 8 --mfu nan", "--mfu nan: expected a share of the peak"},
      {"levels f --max-length 8192 --gpus 8 --table nowhere", "nowhere: cannot be read: No such file"},
      {"levels f --max-length 8192 --gpus 8 --columns 1,1", "levels takes one length a sample, not 2 measures"},
  };
  for (auto const& c : cases) check_refused(in.ballast(c.arguments), c.sentence);

  struct bad_profile {
    std::string bytes, sentence;
  };
  bad_profile const profiles[] = {
      {"", "p: there are no measured settings in it"},
      {"length,sp,recomputed_layers,milliseconds\n", "p: there are no measured settings in it"},
      {"8192,1,0\n", "p:1: four columns are expected, length, sp, recomputed_layers and milliseconds, or a fifth, memory; there are 3"},
      {"8192,1,0,5,6,7\n", "p:1: four columns are expected"},
      {"length sp layers ms\n\n0 1 0 5\n", "p:3: 0 is not a length of packs: these are whole numbers from 1 to 2^31-1"},
      {"8192,0,0,5\n", "p:1: 0 is not an SP degree: these are whole numbers from 1 to 8192"},
      {"8192,8193,0,5\n", "p:1: 8193 is not an SP degree"},
      {"8192,1,-1,5\n", "p:1: -1 is not a number of recomputed layers"},
      {"8192,1,0,0\n", "p:1: 0 is not a time: times are milliseconds from 0.001 to 10^6"},
      {"8192,1,0,inf\n", "p:1: inf is not a time"},
      {"8192,1,0,1000001\n", "p:1: 1000001 is not a time"},
      {"8192,1,0,5,nan\n", "p:1: nan is not a memory: these are gigabytes of a device above 0"},
      {"8192,1,0,5\n8192,1,0,6\n", "p:2: this length, sp and number of layers occur a second time"},
      {"8192,1,0,5\n8192,3,0,6\n", "p:2: sp = 3 does not divide --gpus 8"},
      {"8192,1,33,5\n", "p:1: 33 recomputed layers; llama-3.1-8b has 32"},
  };
  for (auto const& c : profiles) {
    in.file("p", c.bytes);
    check_refused(in.ballast("levels f --max-length 8192 --gpus 8 --table p"), c.sentence);
  }
}

TEST_CASE("levels that no setting can hold are an answer of their own: exit 3", "[cli]") {
  scratch const in;
  in.file("f", "5\n200000\n");
  check_refused(
      in.ballast("levels f --max-length 200000 --gpus 1"),
      "the longest sample has 200000 tokens, and no setting of llama-3.1-8b on 1 h100 holds a pack of that length (modelled memory)", 3);
  in.file("p", "65536,1,0,5\n262144,1,0,5\n");
  check_refused(in.ballast("levels f --max-length 200000 --gpus 8 --table p"),
                "the longest sample has 200000 tokens, and no row of p holds a pack of that length", 3);
  check_refused(in.ballast("levels f --max-length 4 --gpus 8 --oversize set-aside"),
                "every sample is longer than 4 and set aside: there is nothing to choose levels for", 3);
}

}  // namespace test_cli_levels
