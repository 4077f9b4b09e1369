// SPDX-License-Identifier: Apache-2.0
// `ballast check` of steps, sets, shards, stages and selections that any program made: valid ones are scored as the library scores them,
// spoilt ones get one sentence.
#include "program.hpp"
#include "refused.hpp"

#include "readers/steps.hpp"

#include "support/catch.hpp"
#include "support/rounds.hpp"

#include <ballast/balance/balance.hpp>
#include <ballast/batching/bounds.hpp>
#include <ballast/batching/check.hpp>
#include <ballast/batching/plan_steps.hpp>
#include <ballast/core/random.hpp>
#include <ballast/partition/min_max.hpp>
#include <ballast/recompute/choose.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace test_cli_check_plans {

namespace {

using namespace ballast_test;
using json = nlohmann::json;
using drawn_steps = std::vector<std::vector<std::vector<std::vector<std::uint64_t>>>>;  // by step, rank and micro-batch

constexpr auto per_ms = std::int64_t{1'000'000};  // units of a measured cost
constexpr auto as_cost = "2,2\n100000,100000\n";  // a token takes a millisecond
constexpr auto cost_of_tokens = [](std::int64_t length) { return length * per_ms; };

json scored(scratch const& in, std::string const& arguments) {
  auto const out = in.ballast("check " + arguments + " --json");
  INFO(arguments << "\n" << out.err);
  REQUIRE(out.code == 0);
  return json::parse(out.out);
}

bool near(json const& found, double expected) { return std::abs(found.get<double>() - expected) <= 1e-9 * std::abs(expected); }
double ms_of(std::int64_t units) { return static_cast<double>(units) / static_cast<double>(per_ms); }

std::vector<std::int64_t> drawn_lengths(std::size_t n, std::int64_t most, ballast::splitmix64& random) {
  std::vector<std::int64_t> out(n);
  for (auto& l : out) {
    auto const range = random() % 4 == 0 ? static_cast<std::uint64_t>(most) : std::uint64_t{64};
    l = 2 + static_cast<std::int64_t>(random() % (range - 1));
  }
  return out;
}

drawn_steps as_lists(ballast::batching<> const& plan) {
  drawn_steps out(plan.steps());
  for (std::size_t s = 0; s < plan.steps(); ++s) {
    out[s].resize(static_cast<std::size_t>(plan.ranks));
    for (std::size_t r = 0; r < plan.ranks; ++r)
      for (auto const pack : plan.packs_of(s, r)) out[s][r].emplace_back(pack.begin(), pack.end());
  }
  return out;
}

std::string as_lines(drawn_steps const& steps) {
  std::string text;
  for (auto const& step : steps) text += json(step).dump() + "\n";
  return text;
}

struct step_case {
  std::vector<std::int64_t> lengths;
  ballast::batching_options options;
  ballast::batching<> plan;
};

/// Steps of this library or of a plain method, with a last step that may be short.
step_case draw_steps(ballast::splitmix64& random) {
  step_case out;
  out.options = {.capacity = 256 + static_cast<std::int64_t>(random() % 512),
                 .ranks = 1 + random() % 5,
                 .micro_batches = 1 + random() % 3,
                 .left_over = ballast::left_over::shorten};
  out.lengths = drawn_lengths(40 + random() % 120, out.options.capacity, random);
  out.plan = ballast::plan_steps(out.lengths, out.options, cost_of_tokens);
  return out;
}

}  // namespace

TEST_CASE("check of steps: the score is that of the library, from lines and from arrays") {
  scratch const in;
  in.file("cost", as_cost);
  for (int seed = 0; seed < 40; seed += round_step) {
    CAPTURE(seed);
    ballast::splitmix64 random(static_cast<std::uint64_t>(seed));
    auto const [lengths, options, plan] = draw_steps(random);
    in.file("l", as_text(lengths));
    in.file("s", as_lines(as_lists(plan)));
    auto const arguments = " l --cost cost --capacity " + std::to_string(options.capacity);
    auto found = scored(in, "s" + arguments);
    CHECK(found["kind"] == "steps");
    CHECK(found["ranks"] == options.ranks);
    CHECK(found["steps"] == plan.steps());
    CHECK(near(found["value_ms"], ms_of(plan.slowest.value)));
    CHECK(near(found["slowest_over_mean"], plan.slowest_over_mean()));
    auto shape = options;
    shape.micro_batches = found["micro_batches"];  // of which the longest rank may have fewer than planned
    auto const samples = ballast::weigh(lengths, shape, cost_of_tokens);
    CHECK(near(found["lower_bound_ms"], ms_of(ballast::steps_lower_bound(samples, shape))));
    CHECK(near(found["ballast"]["value_ms"], ms_of(ballast::plan_steps(samples, shape).slowest.value)));
    CHECK(found["lower_bound_ms"].get<double>() <= found["value_ms"].get<double>());

    std::vector<std::int64_t> const offsets(plan.packs.offsets.begin(), plan.packs.offsets.end());
    std::vector<std::int64_t> const members(plan.packs.members.begin(), plan.packs.members.end());
    std::vector<std::int64_t> table;
    for (auto const p : plan.table) table.push_back(p == plan.none ? -1 : std::int64_t{p});
    in.file("o.npy", npy("<i8", "(" + std::to_string(offsets.size()) + ",)", offsets));
    in.file("m.npy", npy("<i4", "(" + std::to_string(members.size()) + ",)", members));
    in.file(
        "t.npy",
        npy("<i4", "(" + std::to_string(plan.steps()) + ", " + std::to_string(plan.ranks) + ", " + std::to_string(plan.micro_batches) + ")",
            table));
    auto of_arrays = scored(in, "o.npy m.npy t.npy" + arguments);
    CHECK(near(of_arrays["value_ms"], ms_of(plan.slowest.value)));
    if (shape.micro_batches != plan.micro_batches) continue;
    found.erase("seconds");
    of_arrays.erase("seconds");
    CHECK(of_arrays == found);
  }
}

TEST_CASE("check of steps: a folder of plan has the figures that plan printed") {
  scratch const in;
  in.file("l", as_text([] {
            ballast::splitmix64 random(7);
            return drawn_lengths(900, 8192, random);
          }()));
  for (std::string const options :
       {"", " --multiple 16", " --device a100 --mfu 0.5", " --step-overhead-ms 3 --micro-batch-overhead-ms 1"}) {
    CAPTURE(options);
    auto const shared = " --capacity 8192" + options;
    auto const made = in.ballast("plan l --ranks 4 --micro-batches 2 --json --out run" + shared);
    INFO(made.err);
    REQUIRE(made.code == 0);
    auto const plan = json::parse(made.out);
    auto const found = scored(in, "run/offsets.npy run/members.npy run/steps.npy l" + shared);
    for (auto const* key :
         {"packs", "steps", "dbr", "abr", "idle", "slowest_over_mean", "single_sample_bound", "any_plan_bound", "modelled_step_ms"}) {
      CAPTURE(key);
      CHECK(near(found[key], plan[key].get<double>()));
    }
  }
}

TEST_CASE("check of steps: oversize samples are cut or set aside as plan does") {
  scratch const in;
  in.file("cost", as_cost);
  in.file("l", "30\n500\n40\n");
  auto const options = std::string(" l --cost cost --capacity 100 --oversize ");
  in.file("s", "[[[0,2]]]\n");
  CHECK(scored(in, "s" + options + "set-aside")["set_aside"] == json{1});
  check_refused(in.ballast("check s" + options + "truncate"), "s: not valid steps: sample 1 is in no micro-batch");
  check_refused(in.ballast("check s" + options + "alone"), "--oversize alone: micro-batches of steps never hold more");
  in.file("t", "[[[1],[0,2]]]\n");
  CHECK(scored(in, "t" + options + "truncate")["tokens"] == 170);
  check_refused(in.ballast("check t" + options + "set-aside"), "t: not valid steps: step 0, rank 0, micro-batch 0 holds 500 tokens");
  check_refused(in.ballast("check s l --cost cost --capacity 100"), "l:2: 500 exceeds the capacity 100; --oversize set-aside, truncate or");
}

TEST_CASE("check of steps: every kind of spoilt steps is refused with its place") {
  scratch const in;
  in.file("cost", as_cost);
  using spoiler = std::function<std::string(drawn_steps&, std::vector<std::int64_t> const&)>;
  std::map<std::string, spoiler> const spoilers{
      {"missing",
       [](auto& s, auto&) {
         auto& pack = s[0][0][0];
         auto const gone = pack.back();
         pack.pop_back();
         return pack.empty() ? std::string("step 0, rank 0, micro-batch 0 has no samples: leave")
                             : "sample " + std::to_string(gone) + " is in no micro-batch";
       }},
      {"twice",
       [](auto& s, auto&) {
         auto const sample = s[0][0][0][0];
         auto& last = s.back().back();
         last.push_back({sample});
         return "sample " + std::to_string(sample) + " is in step 0, rank 0, micro-batch 0 and in step " + std::to_string(s.size() - 1);
       }},
      {"beyond",
       [](auto& s, auto& lengths) {
         s[0][0][0][0] = lengths.size();
         return "step 0, rank 0, micro-batch 0 has sample " + std::to_string(lengths.size()) + ", and there are " +
                std::to_string(lengths.size()) + " samples";
       }},
      {"overfull",
       [](auto& s, auto&) {
         auto& first = s[0][0][0];
         for (auto& step : s)
           for (auto& rank : step)
             for (auto& pack : rank)
               if (&pack != &first)
                 while (pack.size() > 1) {
                   first.push_back(pack.back());
                   pack.pop_back();
                 }
         return std::string("step 0, rank 0, micro-batch 0 holds ");
       }},
      {"idle",
       [](auto& s, auto&) {
         if (s[0].size() == 1) s[0].emplace_back();  // a rank more, of the first step alone
         auto& from = s[0].back();
         for (auto& pack : from) s[0][0].push_back(pack);
         from.clear();
         return std::string();
       }},
      {"ranks", [](auto& s, auto&) {
         s.push_back(s.back());
         for (auto& rank : s.back()) rank.clear();
         s.back().emplace_back();
         return std::string("");
       }}};
  for (int seed = 0; seed < 12; seed += round_step)
    for (auto const& [word, spoil] : spoilers) {
      CAPTURE(seed, word);
      ballast::splitmix64 random(static_cast<std::uint64_t>(seed));
      auto const [lengths, options, plan] = draw_steps(random);
      auto lists = as_lists(plan);
      auto const sentence = spoil(lists, lengths);
      in.file("l", as_text(lengths));
      in.file("s", as_lines(lists));
      auto const begins = word == "ranks"  ? "s:" + std::to_string(lists.size()) + ": this step has "
                          : word != "idle" ? "s: not valid steps: " + sentence
                          : options.ranks == 1
                              ? (lists.size() > 1 ? "s:2: this step has 1 ranks, and the first has 2"
                                                  : "s: not valid steps: step 0 gives rank 1 no micro-batch")
                              : "s: not valid steps: step 0 gives rank " + std::to_string(options.ranks - 1) + " no micro-batch";
      check_refused(in.ballast("check s l --cost cost --capacity " + std::to_string(options.capacity)), begins);
    }
}

TEST_CASE("check of steps: text and arrays that are none are refused in one sentence") {
  scratch const in;
  in.file("l", "5\n6\n7\n");
  auto const form = std::string("expected a step as in [[[0,1],[2]],[[3],[4]]], of each rank its micro-batches, of each its samples, ");
  for (auto const& [text, sentence] :
       std::vector<std::pair<std::string, std::string>>{{"[[[0,1],[2]]", "s:1: " + form + "and the line ends too early"},
                                                        {"[[[0,1],[2]]]\n[[[x]]]", "s:2: " + form + "not x]]] at byte 4"},
                                                        {"[[[0,-1]]]", "s:1: " + form + "not -1]]] at byte 6"},
                                                        {"[[[0]]] [", "s:1: " + form + "not [ at byte 9"},
                                                        {"[[[0]]]\n[]", "s:2: a step has at least one rank"},
                                                        {"[[[0],[1]],[2]]", "s:1: " + form + "not 2]] at byte 13"}}) {
    CAPTURE(text);
    in.file("s", text);
    check_refused(in.ballast("check s l --capacity 9"), sentence);
  }
  in.file("s", "[[[0],[1],[2]]]");
  CHECK(in.ballast("check - l --capacity 9 <s").code == 0);
  CHECK(in.shell("gzip -c s | \"$B\" check - l --capacity 9").code == 0);
  check_refused(in.ballast("check s l"), "--capacity is required for steps: the tokens that a micro-batch holds");
  check_refused(in.ballast("check s --capacity 9"), "check takes the steps, then the lengths of their samples");
  check_refused(in.ballast("check s l --capacity 9 --gpus 3"), "--gpus: is for settings of frameworks and shards, and s holds steps");
  std::string many = "[[[0]";
  for (int k = 0; k < 3000; ++k) many += ",[0]";
  many += "]]\n";
  for (int k = 0; k < 100'000; ++k) many += "[[[0]]]\n";
  in.file("many", many);
  check_refused(in.ballast("check many l --capacity 9"), "many: a rank has 3001 micro-batches in one step, and most have far fewer");

  in.file("o", npy("<i8", "(4,)", {0, 1, 2, 3}));
  in.file("m", npy("<i8", "(3,)", {0, 1, 2}));
  for (auto const& [table, sentence] : std::vector<std::pair<std::vector<std::int64_t>, std::string>>{
           {{0, 1, 2, 3}, "t: not valid steps: step 1, rank 0, micro-batch 1 names pack 3, and there are 3 packs"},
           {{0, 1, 2, 0}, "t: not valid steps: step 1, rank 0, micro-batch 1 has a pack that is in an earlier place too"},
           {{0, 1, -2, 2}, "t: step 1, rank 0, micro-batch 0: -2 is neither the number of a pack nor -1"}}) {
    in.file("t", npy("<i4", "(2, 1, 2)", table));
    auto sentence_of_file = sentence;
    if (sentence.find("not valid") != sentence.npos) sentence_of_file[0] = 'o';
    check_refused(in.ballast("check o m t l --capacity 9"), sentence_of_file);
  }
}

TEST_CASE("check of sets: the score is that of balance, and spoilt sets are refused") {
  scratch const in;
  in.file("cost", as_cost);
  for (int seed = 0; seed < 20; seed += round_step) {
    CAPTURE(seed);
    ballast::splitmix64 random(static_cast<std::uint64_t>(seed));
    auto const lengths = drawn_lengths(30 + random() % 80, 4096, random);
    auto const k = std::size_t{2} + random() % 7;
    std::vector<std::vector<std::size_t>> sets(k);
    for (std::size_t i = 0; i < lengths.size(); ++i) sets[random() % k].push_back(i);
    auto const text = [&] {
      std::string out;
      for (auto const& set : sets) out += json(set).dump() + "\n";
      return out;
    };
    std::int64_t largest = 0;
    for (auto const& set : sets) {
      std::int64_t load = 0;
      for (auto const i : set) load += lengths[i];
      largest = (std::max)(largest, load);
    }
    in.file("l", as_text(lengths));
    in.file("s", text());
    auto const arguments = std::string("s l --cost cost --sets ") + std::to_string(k);
    auto const best = ballast::balance(lengths, {.sets = k}, cost_of_tokens);
    auto const found = scored(in, arguments);
    CHECK(found["kind"] == "sets");
    CHECK(near(found["value_ms"], static_cast<double>(largest)));
    CHECK(near(found["lower_bound_ms"], ms_of(best.load.lower_bound)));
    CHECK(near(found["ballast"]["value_ms"], ms_of(best.load.value)));

    auto& from = sets[0].empty() ? sets[1] : sets[0];
    auto const sample = from.back();
    from.pop_back();
    in.file("s", text());
    check_refused(in.ballast("check " + arguments), "s: not valid sets: sample " + std::to_string(sample) + " is in no set");
    from.push_back(sample);
    sets.back().push_back(sample);
    in.file("s", text());
    check_refused(in.ballast("check " + arguments), "s: not valid sets: sample " + std::to_string(sample) + " is in an earlier set");
    sets.back().back() = lengths.size();
    in.file("s", text());
    check_refused(in.ballast("check " + arguments), "s: not valid sets: sample " + std::to_string(lengths.size()) + " is beyond the data");
    check_refused(in.ballast("check s l --cost cost --sets " + std::to_string(k + 1)),
                  "s: not valid sets: it has " + std::to_string(k) + " lines that are not blank, and --sets says " + std::to_string(k + 1));
  }
}

TEST_CASE("check of shards: the score is that of compare, and spoilt shards are refused") {
  scratch const in;
  REQUIRE(in.ballast("generate --like long-context-sft --samples 48 --seed 4 --out l").code == 0);
  auto const on = std::string(" --gpus 4 --capacity 65536 --batch 16");
  auto const made = in.ballast("schedule l" + on + " --out s");
  INFO(made.err);
  REQUIRE(made.code == 0);
  auto const found = scored(in, "s l" + on);
  auto const compared = json::parse(in.ballast("compare l --methods ballast --batches 3 --plan s --json" + on).out);
  CHECK(found["kind"] == "shards");
  CHECK(near(found["step_ms"], compared["methods"].back()["step_milliseconds"].get<double>()));
  CHECK(near(found["lower_bound_ms"], compared["methods"].back()["bound_milliseconds"].get<double>()));
  CHECK(near(found["ballast"]["step_ms"], compared["methods"].front()["step_milliseconds"].get<double>()));

  auto const whole = read_whole(in / "s");
  in.file("t", whole.substr(0, whole.find('\n') + 1));
  check_refused(in.ballast("check t l --batch 48 --gpus 4 --capacity 65536"),
                "t: not valid shards: 32 samples of the first 48 are in no batch");
  in.file("t", whole + whole.substr(0, whole.find('\n') + 1));
  check_refused(in.ballast("check t l" + on), "t: batch 3: sample ");
  check_refused(in.ballast("check s l --gpus 4 --batch 16 --capacity 8192"), "s: batch 0: pass ");
  check_refused(in.ballast("check s l --gpus 5 --capacity 65536"), "s: batch 0: there are 4 ranks, not 5");
  check_refused(in.ballast("check s l --capacity 65536"), "--gpus is required for shards");
  check_refused(in.ballast("check s l --gpus 4"), "--capacity is required for shards");
}

namespace {

struct layer_case {
  std::vector<std::int64_t> forward, backward, activations, checkpoints;
  std::string text;
};

layer_case draw_layers(std::size_t n, ballast::splitmix64& random) {
  layer_case out;
  out.text = "name,forward,backward,parameter_bytes,activation_bytes,checkpoint_bytes\n";
  for (std::size_t i = 0; i < n; ++i) {
    out.forward.push_back(1 + static_cast<std::int64_t>(random() % 40));
    out.backward.push_back(2 * out.forward.back());
    out.activations.push_back(50 + static_cast<std::int64_t>(random() % 100));
    out.checkpoints.push_back(static_cast<std::int64_t>(random() % 40));
    out.text += "layer." + std::to_string(i) + "," + std::to_string(out.forward[i]) + "," + std::to_string(out.backward[i]) + ",10," +
                std::to_string(out.activations[i]) + "," + std::to_string(out.checkpoints[i]) + "\n";
  }
  return out;
}

}  // namespace

TEST_CASE("check of stages: the score is that of the library, in every form of file") {
  scratch const in;
  for (int seed = 0; seed < 30; seed += round_step) {
    CAPTURE(seed);
    ballast::splitmix64 random(static_cast<std::uint64_t>(seed));
    auto const n = std::size_t{4} + random() % 20, p = std::size_t{2} + random() % 3;
    auto const layers = draw_layers(n, random);
    in.file("layers.csv", layers.text);
    std::vector<std::size_t> inner;
    while (inner.size() < p - 1) {
      auto const cut = 1 + random() % (n - 1);
      if (std::find(inner.begin(), inner.end(), cut) == inner.end()) inner.push_back(cut);
    }
    std::sort(inner.begin(), inner.end());
    std::vector<std::size_t> cuts{0};
    cuts.insert(cuts.end(), inner.begin(), inner.end());
    cuts.push_back(n);
    std::vector<std::int64_t> time;
    for (std::size_t i = 0; i < n; ++i) time.push_back(layers.forward[i] + layers.backward[i]);
    std::int64_t slowest = 0;
    std::string lines = "name,stage\n", commas;
    for (std::size_t s = 0; s < p; ++s) {
      std::int64_t sum = 0;
      for (auto i = cuts[s]; i < cuts[s + 1]; ++i) {
        sum += time[i];
        lines += "layer." + std::to_string(i) + "," + std::to_string(s) + "\n";
      }
      slowest = (std::max)(slowest, sum);
    }
    for (auto const cut : cuts) commas += (commas.empty() ? "" : ",") + std::to_string(cut);
    auto const best = ballast::min_max_partition(time, {.stages = p}).bottleneck.value;
    auto const step = " --micro-batches 6 --schedule gpipe";
    json first;
    for (auto const& form : {commas, "[" + commas + "]\n", "{\"boundaries\":[" + commas + "]}", lines}) {
      in.file("cut", form);
      auto const found = scored(in, "cut layers.csv" + std::string(step));
      if (first.is_null()) first = found;
      CHECK(found == first);
    }
    CHECK(first["kind"] == "stages");
    CHECK(first["value"] == slowest);
    CHECK(first["lower_bound"] == best);
    CHECK(first["ballast"]["value"] == best);
    auto const simulated = in.ballast("simulate layers.csv --stages " + std::to_string(p) + step + " --json --boundaries " + commas);
    auto const timeline = json::parse(simulated.out);
    CHECK(first["makespan"] == timeline["makespan"]);
    CHECK(near(first["bubble"], timeline["bubble"].get<double>()));
    for (std::size_t s = 0; s < p; ++s) CHECK(first["memory"][s] >= timeline["stages"][s]["peak_memory"]);
  }
}

TEST_CASE("check of stages: partition's own plans are valid and optimal, with what they recompute") {
  scratch const in;
  for (int seed = 0; seed < 20; seed += round_step) {
    CAPTURE(seed);
    ballast::splitmix64 random(static_cast<std::uint64_t>(seed));
    auto const n = std::size_t{8} + random() % 12;
    in.file("layers.csv", draw_layers(n, random).text);
    auto const memory = " --micro-batches 4 --memory " + std::to_string(700 + random() % 800);
    auto const made = in.ballast("partition layers.csv --stages 3 --json" + memory);
    if (made.code == 3) continue;
    REQUIRE(made.code == 0);
    in.file("cut.json", made.out);
    auto const plan = json::parse(made.out);
    auto const found = scored(in, "cut.json layers.csv" + memory);
    CHECK(found["value"] == plan["bottleneck"]);
    CHECK(found["lower_bound"] == plan["lower_bound"]);
    CHECK(found["optimal"] == plan["optimal"]);
    CHECK(found["memory"] == plan["memory"]);
    check_refused(in.ballast("check cut.json layers.csv --micro-batches 4 --memory 60"), "cut.json: not valid stages: stage 0 holds ");
    if (!plan["recompute"].empty())
      check_refused(in.ballast("check cut.json layers.csv"), "cut.json: says what layers recompute or send to the host; --memory and");
  }
}

TEST_CASE("check of selections: the score is that of the library, and recompute's own are optimal") {
  scratch const in;
  for (int seed = 0; seed < 30; seed += round_step) {
    CAPTURE(seed);
    ballast::splitmix64 random(static_cast<std::uint64_t>(seed));
    auto const n = std::size_t{3} + random() % 20;
    auto const layers = draw_layers(n, random);
    in.file("layers.csv", layers.text);
    std::int64_t memory = 0, time = 0;
    ballast::option_classes items;
    std::string lines = "name,choice\n";
    json object{{"recompute", json::array()}};
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<ballast::memory_option> const options{{.memory = layers.activations[i]},
                                                        {.memory = layers.checkpoints[i], .time = layers.forward[i]}};
      items.add(options);
      auto const again = random() % 2;
      memory += options[again].memory;
      time += options[again].time;
      auto const name = "layer." + std::to_string(i);
      if (again == 0 && random() % 2 == 0) continue;  // what is not named is kept
      lines += name + (again != 0 ? ",recompute\n" : ",keep\n");
      if (again != 0) object["recompute"].push_back(name);
    }
    auto const best = ballast::choose_options(items, {.budget = memory});
    auto const budget = " layers.csv --budget " + std::to_string(memory);
    for (auto const& form : {lines, object.dump()}) {
      in.file("choice", form);
      auto const found = scored(in, "choice" + budget);
      CHECK(found["kind"] == "selection");
      CHECK(found["value"] == time);
      CHECK(found["memory"] == memory);
      CHECK(found["lower_bound"] == best.time.lower_bound);
      CHECK(found["ballast"]["value"] == best.time.value);
      check_refused(in.ballast("check choice layers.csv --budget " + std::to_string(memory - 1)),
                    "choice: not a valid selection: its layers hold ");
    }
    in.file("own.json", in.ballast("recompute" + budget + " --json").out);
    CHECK(scored(in, "own.json" + budget)["optimal"] == best.time.optimal());
  }
}

TEST_CASE("check of stages and selections: every kind of spoilt file is refused with its place") {
  scratch const in;
  in.file("layers.csv", "name,forward,backward,activation_bytes,checkpoint_bytes\na,1,2,9,3\nb,1,2,9,9\nc,1,2,9,3\n");
  for (auto const& [text, options, sentence] : std::vector<std::array<std::string, 3>>{
           {"0,2,4", "",
            "f: not valid stages: boundaries[2] = 4: boundaries must rise from 0 to the number of layers, 3; 2 stages of 3 layers"},
           {"1,2,3", "", "f: not valid stages: boundaries[0] = 1: boundaries must rise"},
           {"0,2,1,3", "", "f: not valid stages: boundaries[2] = 1: boundaries must rise"},
           {"0,2,2,3", "", "f: not valid stages: stage 1 has no layer: give it one, or cut into fewer stages"},
           {"0\n2\nx\n3", "", "f:3: x is not a boundary"},
           {"0", "", "f: not valid stages: it has one boundary"},
           {"[]", "", "f: there are no boundaries in it; expected boundaries as in 0,8,16"},
           {"{\"boundaries\":[0,-1,3]}", "", "f: boundaries[1]: -1 is not a boundary"},
           {"{\"boundaries\":3}", "", "f: boundaries: expected a list, not 3"},
           {"{\"layers\":3}", "", "f: has neither boundaries nor layers to recompute; expected"},
           {"{\"recompute\":[3]}", "--budget 99", "f: recompute[0]: expected the name of a layer, not 3"},
           {"{\"recompute\":[\"aa\"]}", "--budget 99", "f: recompute[0]: layers.csv has no layer aa; did you mean a?"},
           {"{\"recompute\":[\"a\",\"a\"]}", "--budget 99", "f: recompute[1]: layer a is named a second time, first at f: recompute[0]"},
           {"{\"recompute\":[\"a\"],\"keep\":[\"a\"]}", "--budget 99", "f: recompute[0]: layer a is named a second time"},
           {"{\"recompute\":[\"b\"]}", "--budget 99", "f: recompute[0]: layer b has nothing to recompute: its checkpoint_bytes are not"},
           {"{\"offload\":[\"a\"]}", "--budget 99", "f: offload[0]: layer a cannot be sent to the host: --offload says"},
           {"{\"recompute\":[\"a\"]}", "", "--budget is required for a selection"},
           {"{\"recompute\":[\"a\"]}", "--memory 9", "--memory: is for settings of frameworks and stages, and f is a selection"},
           {"0,3", "--budget 9", "--budget: is for selections, and f holds stages of a pipeline"},
           {"0,3", "--capacity 9", "--capacity: is for packings, steps and shards, and f holds stages of a pipeline"},
           {"0,3", "--memory 9", "--memory requires --micro-batches"},
           {"0,3", "--schedule gpipe", "--schedule requires --micro-batches"},
           {"name,stage\na,0\nb,1", "", "f: not valid stages: layer c has no stage"},
           {"name,stage\na,0\nb,1\nc,0", "", "f:4: layer c is in stage 0, and in the order of the layers it is in stage 1 or 2"},
           {"name,stage\na,1\nb,1\nc,1", "", "f:2: layer a is in stage 1, and in the order of the layers it is in stage 0"},
           {"name,stage\na,0\nb,x", "", "f:3: x is not a stage"},
           {"name,choice\na,drop", "", "f:2: drop is no choice of a layer; these are keep, recompute and offload"},
           {"name,choice\na", "", "f:2: 1 column where the header has 2"},
           {"name,name\na,b", "", "f:1: the column name occurs a second time"},
           {"name\na", "", "f:1: a column is missing"},
           {"what\na", "", "f:1: what is no column of stages"},
           {"", "", "f: is empty; expected"}}) {
    CAPTURE(text, options);
    in.file("f", text);
    check_refused(in.ballast("check f layers.csv " + options), sentence);
  }
  in.file("f", "{\"boundaries\":[0,1,3]}");
  check_refused(in.ballast("check f"), "f: holds stages; name the CSV of their layers behind it, as in check f layers.csv");
  in.file("f", "{\"keep\":[],\"recompute\":[\"a\"]}");
  check_refused(in.ballast("check f"), "f: holds a selection; name the CSV of their layers behind it");
}

}  // namespace test_cli_check_plans
