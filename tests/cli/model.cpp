// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"
#include "refused.hpp"

#include "support/catch.hpp"

#include <ballast/core/random.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace test_cli_model {

namespace {

using namespace ballast_test;
using nlohmann::json;

json answer(scratch::outcome const& o) {
  CAPTURE(o.out, o.err);
  REQUIRE(o.code == 0);
  return json::parse(o.out);
}

/// A layer in quarters of the file's unit.
struct layer {
  std::int64_t forward, backward, parameters, activation, checkpoint;
};

std::string quarters(std::int64_t n) {
  char const* const rest[] = {"", ".25", ".5", ".75"};
  return std::to_string(n / 4) + rest[n % 4];
}

/// The columns in an order of their own.
std::string csv_of(std::vector<layer> const& layers) {
  std::string text = "checkpoint_bytes,name,activation_bytes,backward,forward,parameter_bytes\n";
  for (std::size_t i = 0; i < layers.size(); ++i) {
    auto const& l = layers[i];
    text += std::to_string(l.checkpoint) + ",layer " + std::to_string(i) + ", " + std::to_string(l.activation) + "," +
            quarters(l.backward) + "," + quarters(l.forward) + "," + std::to_string(l.parameters) + "\r\n";
  }
  return text;
}

constexpr auto none = (std::numeric_limits<std::int64_t>::max)();

/// Least bottleneck of all cuts and all choices, by trying them; `none` where nothing fits. 1F1B.
std::int64_t least_bottleneck(std::vector<layer> const& layers, std::size_t stages, std::int64_t micro_batches, std::int64_t memory,
                              std::size_t begin = 0, std::size_t stage = 0) {
  if (stage == stages) return begin == layers.size() ? 0 : none;
  auto best = none;
  auto const held = (std::min)(micro_batches, static_cast<std::int64_t>(stages - stage));
  for (auto end = begin + 1; end <= layers.size(); ++end) {
    auto cost = none;
    for (std::size_t choice = 0; choice < std::size_t{1} << (end - begin); ++choice) {
      std::int64_t time = 0, bytes = 0;
      for (auto i = begin; i < end; ++i) {
        auto const& l = layers[i];
        auto const again = (choice >> (i - begin) & 1U) != 0;
        time += l.forward + l.backward + (again ? l.forward : 0);
        bytes += l.parameters + held * (again ? l.checkpoint : l.activation);
      }
      if (bytes <= memory) cost = (std::min)(cost, time);
    }
    if (cost == none) continue;
    best = (std::min)(best, (std::max)(cost, least_bottleneck(layers, stages, micro_batches, memory, end, stage + 1)));
  }
  return best;
}

std::vector<layer> some_layers(std::size_t n, ballast::splitmix64& draw) {
  std::vector<layer> out;
  for (std::size_t i = 0; i < n; ++i) {
    std::int64_t at[5];
    for (auto& value : at) value = static_cast<std::int64_t>(ballast::uniform_below(20, draw));
    out.push_back({at[0], at[1], at[2], at[3] + at[4], at[4]});
  }
  return out;
}

std::string const four =
    "name,forward,backward,parameter_bytes,activation_bytes,checkpoint_bytes,boundary_bytes\n"
    "embedding,0.5,0.5,10,4,1,8\n"
    "a,1,2.5,10,40,4,8\n"
    "b,1,2.5,10,40,4,8\n"
    "head,0.5,1,10,8,8,0\n";

}  // namespace

TEST_CASE("partition --json is the best of all cuts and choices, and holds what it says", "[cli]") {
  scratch const in;
  ballast::splitmix64 draw(6);
  int fitted = 0, recomputed = 0;
  for (int round = 0; round < 60; ++round) {
    auto const n = 1 + static_cast<std::size_t>(ballast::uniform_below(6, draw));
    auto const stages = 1 + static_cast<std::size_t>(ballast::uniform_below((std::min)(n, std::size_t{3}), draw));
    auto const micro_batches = 1 + static_cast<std::int64_t>(ballast::uniform_below(4, draw));
    auto const memory = static_cast<std::int64_t>(ballast::uniform_below(round % 2 == 0 ? 150 : 500, draw));
    auto const layers = some_layers(n, draw);
    in.file("f", csv_of(layers));
    CAPTURE(round, csv_of(layers), stages, micro_batches, memory);
    auto const best = least_bottleneck(layers, stages, micro_batches, memory);
    auto const o = in.ballast("partition f --json --stages " + std::to_string(stages) + " --memory " + std::to_string(memory) +
                              " --micro-batches " + std::to_string(micro_batches));
    if (best == none) {
      check_refused(o, "f: no cut into ", 3);
      continue;
    }
    auto const plan = answer(o);
    ++fitted;
    recomputed += plan["recompute"].empty() ? 0 : 1;
    CHECK(plan["status"] == "feasible");
    CHECK(plan["optimal"] == true);
    CHECK(4.0 * plan["bottleneck"].get<double>() == static_cast<double>(best));
    CHECK(plan["lower_bound"] == plan["bottleneck"]);
    CHECK(plan["offload"].empty());
    CHECK(plan["deepspeed"] == plan["boundaries"]);
    std::vector<std::size_t> const cuts = plan["boundaries"];
    REQUIRE((cuts.size() == stages + 1 && cuts.front() == 0 && cuts.back() == n && std::is_sorted(cuts.begin(), cuts.end())));
    std::int64_t slowest = 0;
    for (std::size_t s = 0; s < stages; ++s) {
      std::int64_t time = 0, bytes = 0;
      auto const held = (std::min)(micro_batches, static_cast<std::int64_t>(stages - s));
      for (auto i = cuts[s]; i < cuts[s + 1]; ++i) {
        auto const again = std::count(plan["recompute"].begin(), plan["recompute"].end(), "layer " + std::to_string(i)) != 0;
        time += layers[i].forward + layers[i].backward + (again ? layers[i].forward : 0);
        bytes += layers[i].parameters + held * (again ? layers[i].checkpoint : layers[i].activation);
      }
      slowest = (std::max)(slowest, time);
      CHECK(plan["memory"][s] == bytes);
      CHECK(bytes <= memory);
    }
    CHECK(slowest == best);
    CHECK(answer(in.ballast("partition f --json --stages " + std::to_string(stages)))["bottleneck"].get<double>() * 4.0 ==
          static_cast<double>(least_bottleneck(layers, stages, 1, none - 1)));
  }
  CHECK((fitted > 20 && fitted < 60 && recomputed > 5));  // both answers were there
}

TEST_CASE("partition: a chain with names that Megatron-LM knows, in words and as JSON", "[cli]") {
  scratch const in;
  in.file("f", four);
  auto const plain = answer(in.ballast("partition f --stages 2 --json"));
  CHECK(plain == json::parse(R"({"status": "feasible", "boundaries": [0, 2, 4], "bottleneck": 5, "lower_bound": 5, "optimal": true,
                                 "recompute": [], "offload": [], "memory": [], "megatron": "Et|tL", "deepspeed": [0, 2, 4]})"));
  CHECK(answer(in.ballast("partition f --stages 2 --micro-batches 8 --json"))["memory"] == json({2 * 44 + 20, 48 + 20}));
  CHECK(answer(in.ballast("partition f --stages 2 --micro-batches 8 --schedule gpipe --json"))["memory"] ==
        json({8 * 44 + 20, 8 * 48 + 20}));
  auto const words = in.ballast("partition f --stages 2 --micro-batches 8 --memory 70");
  CAPTURE(words.out, words.err);
  CHECK(words.code == 0);
  for (auto const* part :
       {"f: 4 layers in 2 stages; the slowest takes 5.5 for a micro-batch, and no plan takes less.\n", "Recomputed: 1 layer: a\n",
        "--pipeline-model-parallel-layout \"Et|tL\"\n", "--recompute-granularity full --recompute-method block --recompute-num-layers 1"}) {
    CAPTURE(part);
    CHECK(words.out.find(part) != std::string::npos);
  }
  check_refused(in.ballast("partition f --stages 2 --micro-batches 8 --memory 31"),
                "f: no cut into 2 stages fits 31 bytes a stage; the least that fits, all recomputed that can be, is 32 bytes\n", 3);
  CHECK(in.ballast("partition f --stages 2 --micro-batches 8 --memory 32").code == 0);
  check_refused(in.ballast("partition f --stages 5"), "f: 4 layers cannot fill 5 stages, each of which takes at least one\n", 3);
  CHECK(in.shell("\"$B\" partition - --stages 2 --json <f").out == in.ballast("partition f --stages 2 --json").out);
}

TEST_CASE("partition: a chain of tower, projector and language model, as DeepSpeed and Megatron-LM take its cut", "[cli]") {
  scratch const in;
  std::string const head = "name,forward,backward\n", language = "embedding,0,0\nlayer.0,6,0\nlayer.1,6,0\nlayer.2,6,0\nlm_head,1,0\n";
  in.file("f", head + "patches,1,0\nvision.0,1,0\nprojector,1,0\n" + language);
  auto const whole = in.ballast("partition f --stages 3").out;
  CHECK(answer(in.ballast("partition f --stages 3 --json"))["megatron"] == "Et|t|tL");
  CHECK(whole.find("DeepSpeed:\n  class PlannedStages(PipelineModule):\n") != std::string::npos);
  CHECK(whole.find("\n          self.parts = [0, 5, 6, 8]\n") != std::string::npos);
  in.file("f", head + "patches,1,0\nvision.0,8,0\nvision.1,8,0\nprojector,1,0\n" + language);
  auto const cut = answer(in.ballast("partition f --stages 3 --json"));
  CHECK(cut["boundaries"] == json({0, 2, 6, 9}));
  CHECK(cut["megatron"] == "");
  auto const words = in.ballast("partition f --stages 3").out;
  CHECK(words.find("Megatron-LM runs towers, projector and embedding in the first stage; the best cut that it has is 20.00 % slower:\n"
                   "  --pipeline-model-parallel-layout \"E|t*2|tL\"\nDeepSpeed:\n") != std::string::npos);
  CHECK(words.find("self.parts = [0, 2, 6, 9]\n") != std::string::npos);
  in.file("f", head + "vision.0,1,0\nvision.1,1,0\n");  // a model of its own
  CHECK(answer(in.ballast("partition f --stages 2 --json"))["megatron"] == "Et|tL");
}

TEST_CASE("partition: of the best cuts, the one that moves least, or the most balanced one", "[cli]") {
  scratch const in;
  in.file("f", "name,forward,backward\na,4,0\nb,1,0\nc,1,0\nd,1,0\n");  // 4 is the bottleneck of any cut into three that keeps a alone
  CHECK(answer(in.ballast("partition f --stages 3 --json"))["boundaries"] == json({0, 1, 2, 4}));
  in.file("f", "name,forward,backward,boundary_bytes\na,4,0,1\nb,1,0,7\nc,1,0,2\nd,1,0,0\n");
  CHECK(answer(in.ballast("partition f --stages 3 --json"))["boundaries"] == json({0, 1, 3, 4}));
}

TEST_CASE("offload: a link that hides costs nothing, one that does not costs its time", "[cli]") {
  scratch const in;
  in.file("f", four);  // a and b keep 40 bytes: there and back 80
  auto const free = answer(in.ballast("recompute f --budget 12 --offload 40 --overlap 100 --json"));
  CHECK((free["recompute"].empty() && free["saved_time"] == 3 && free["lower_bound"] == 0 && free["memory"] <= 12));
  auto const dear = answer(in.ballast("recompute f --budget 12 --offload 160 --json"));  // 0.5 instead of 1
  CHECK((dear["offload"] == json({"a", "b"}) && dear["lower_bound"] == 1 && dear["saved_time"] == 2));
  auto const plan = answer(in.ballast("partition f --stages 2 --micro-batches 8 --memory 48 --offload 160 --json"));
  CHECK(plan["offload"] == json({"a", "b"}));
  CHECK(plan["bottleneck"] == 5.5);
}

TEST_CASE("recompute --json is the best choice within the budget", "[cli]") {
  scratch const in;
  ballast::splitmix64 draw(7);
  for (int round = 0; round < 30; ++round) {
    auto const layers = some_layers(1 + static_cast<std::size_t>(ballast::uniform_below(8, draw)), draw);
    auto const budget = static_cast<std::int64_t>(ballast::uniform_below(120, draw));
    in.file("f", csv_of(layers));
    CAPTURE(round, csv_of(layers), budget);
    auto best = none;
    std::int64_t forward = 0;
    for (auto const& l : layers) forward += l.forward;
    for (std::size_t choice = 0; choice < std::size_t{1} << layers.size(); ++choice) {
      std::int64_t time = 0, bytes = 0;
      for (std::size_t i = 0; i < layers.size(); ++i) {
        auto const again = (choice >> i & 1U) != 0;
        time += again ? layers[i].forward : 0;
        bytes += again ? layers[i].checkpoint : layers[i].activation;
      }
      if (bytes <= budget) best = (std::min)(best, time);
    }
    auto const o = in.ballast("recompute f --json --budget " + std::to_string(budget));
    if (best == none) {
      check_refused(o, "f: the layers hold at least ", 3);
      continue;
    }
    auto const plan = answer(o);
    CHECK(4.0 * plan["lower_bound"].get<double>() == static_cast<double>(best));
    CHECK(4.0 * plan["saved_time"].get<double>() == static_cast<double>(forward - best));
    CHECK(plan["optimal"] == true);
    CHECK(plan["memory"].get<std::int64_t>() <= budget);
    CHECK(plan["keep"].size() + plan["recompute"].size() == layers.size());
  }
  in.file("f", four);
  auto const words = in.ballast("recompute f --budget 56");
  CHECK(words.out ==
        "f: 4 layers, 92 bytes if all are kept.\n"
        "Within 56 bytes: 3 kept, 1 recomputed, 0 sent to the host; they hold 56 bytes.\n"
        "This adds 1 to a forward and backward of 9.5; no choice adds less. Recomputing every layer adds 3.\n"
        "Recomputed: b\n");
}

TEST_CASE("simulate: the closed forms of equal stages", "[cli]") {
  scratch const in;
  std::string text = "name,forward,backward,parameter_bytes,activation_bytes,boundary_bytes\n";
  for (int i = 0; i < 8; ++i) text += "l" + std::to_string(i) + ",0.5,1,100,10,6\n";
  in.file("f", text);
  for (int const m : {1, 4, 12}) {
    auto const of = [&](std::string const& options) {
      return answer(in.ballast("simulate f --stages 4 --json --micro-batches " + std::to_string(m) + " " + options));
    };
    CAPTURE(m);
    for (auto const* schedule : {"gpipe", "1f1b"}) {  // a stage: two layers, 3 in all
      auto const t = of(std::string("--schedule ") + schedule);
      CHECK(t["makespan"] == 3 * (m + 3));
      auto const bubble = t["bubble"].get<double>() - 3.0 / (m + 3);
      CHECK((bubble < 1e-12 && bubble > -1e-12));
      for (int s = 0; s < 4; ++s) {
        CHECK(t["stages"][static_cast<std::size_t>(s)]["busy"] == 3 * m);
        CHECK(t["stages"][static_cast<std::size_t>(s)]["peak_memory"] == 200 + 20 * (schedule[0] == 'g' ? m : (std::min)(m, 4 - s)));
      }
    }
    CHECK(of("--boundaries 0,2,4,6,8") == of(""));
    CHECK(of("--boundaries 0,5,6,7,8")["stages"][0]["busy"] == 7.5 * m);
    CHECK(of("--bandwidth 12")["makespan"].get<double>() >= 3 * (m + 3) + 3);  // six waits of half a unit on the first one's way
    if (m % 4 == 0) CHECK(of("--schedule interleaved --chunks 2")["makespan"] == 3 * m + 4.5);
    for (auto const* schedule : {"zb1p", "zb2p", "zbv"}) CHECK(of(std::string("--schedule ") + schedule)["makespan"] <= 3 * (m + 3));
  }
  auto const words = in.ballast("simulate f --stages 4 --micro-batches 12");
  CAPTURE(words.out);
  CHECK(words.out.find("f: 12 micro-batches through 4 stages under 1f1b take 45; stages wait 20.00 % of it.\n"
                       "No order of the same work takes less.\n") == 0);
}

TEST_CASE("times of any scale are counted in integers, and what is lost is said", "[cli]") {
  scratch const in;
  auto const bottleneck = [&](std::string const& a, std::string const& b) {
    in.file("f", "name,forward,backward\na," + a + ",0\nb," + b + ",0\n");
    return in.ballast("partition f --stages 1 --json").out;
  };
  auto const says = [&](std::string const& a, std::string const& b, std::string const& sum) {
    auto const out = bottleneck(a, b);
    CAPTURE(a, b, out);
    CHECK(out.find("\"bottleneck\":" + sum + ",") != std::string::npos);
  };
  says("0.1", "0.2", "0.3");  // 0.30000000000000004 in doubles
  says("1e3", "1", "1001");
  says("1e-3", "0.0005", "0.0015");
  says("1.50", "2.500", "4");
  says("0", "0", "0");
  says("10000000000000", "0.5", "10000000000000.5");
  CHECK(in.ballast("partition f --stages 1").out.find("rounded") == std::string::npos);
  CHECK(bottleneck("0.3333333333333333333", "1").find("\"bottleneck\":1.33333333333333,") != std::string::npos);
  CHECK(in.ballast("partition f --stages 1").out.find("Times were rounded to 1e-14 of the file's unit.\n") != std::string::npos);
}

TEST_CASE("layers that cannot be used are refused, naming file and line", "[cli]") {
  scratch const in;
  struct bad {
    std::string bytes, sentence;
  };
  std::string const head = "name,forward,backward,activation_bytes\n";
  bad const cases[] = {
      {"", "f: there are no layers in it\n"},
      {head, "f: there are no layers in it\n"},
      {"a,1,2\n",
       "f:1: a is no column of layers; these are name, forward, backward, forward_per_batch, backward_per_batch, parameter_bytes"},
      {"name,forward,backward,backward_per_batch\na,1,2,2\nb,1,2,2.5\n",
       "f:3: 2.5 of backward_per_batch exceeds the layer's time of 2, of which it is the part that any micro-batch takes"},
      {"name,forward,backward,forward_per_batch\na,1,2,-1\n", "f:2: -1 is not a forward_per_batch time: times are numbers from 0"},
      {"name,forward\n", "f:1: the column backward is missing\n"},
      {"forward,backward\n", "f:1: the column name is missing\n"},
      {"name,forward,backward,forward\n", "f:1: the column forward occurs a second time\n"},
      {head + "a,1,2\n", "f:2: 3 columns where the header has 4\n"},
      {head + "a,1,2,3,4\n", "f:2: 5 columns where the header has 4\n"},
      {head + "a,1,2,3\n\na,1,2,3\n", "f:4: layer a is in line 2 already\n"},
      {head + ",1,2,3\n", "f:2: the layer has no name\n"},
      {head + "a,-1,2,3\n", "f:2: -1 is not a forward time: times are numbers from 0\n"},
      {head + "a,1,nan,3\n", "f:2: nan is not a backward time: times are numbers from 0\n"},
      {head + "a,inf,2,3\n", "f:2: inf is not a forward time"},
      {head + "a,1e999,2,3\n", "f:2: 1e999 is not a forward time"},
      {head + "a,,2,3\n", "f:2: an empty field is not a forward time"},
      {head + "a,1 ms,2,3\n", "f:2: 1 ms is not a forward time"},
      {head + "a,1,2,-3\n", "f:2: -3 is not a number of bytes: activation_bytes are whole numbers from 0\n"},
      {head + "a,1,2,3.5\n", "f:2: 3.5 is not a number of bytes"},
      {head + "a,1,2,3Ki\n", "f:2: 3Ki is not a number of bytes"},
      {head + "a,1,2,288230376151711744\nb,1,2,1\n", "f:3: activation_bytes add up to more than 2^58\n"},
      {head + "a,1e15,2e15,3\n", "f:2: the times add up to 2^50 or more; choose a larger unit\n"},
      {head + "\"a,1,2,3\n", "f:2: a quote is opened and not closed on the same line\n"},
  };
  for (auto const& c : cases) {
    in.file("f", c.bytes);
    check_refused(in.ballast("partition f --stages 1"), c.sentence);
  }
  check_refused(in.ballast("simulate missing.csv --stages 1 --micro-batches 1"), "missing.csv: cannot be read");
  in.file("f", "\xef\xbb\xbfname,forward,backward\n\"a, \"\"b\"\"\",1,2\n");
  CHECK(in.ballast("partition f --stages 1").out.find("a, \"b\"") != std::string::npos);
}

TEST_CASE("a file that does not say what layers hold decides nothing by it, and shows no 0 bytes", "[cli]") {
  scratch const in;
  in.file("f", "name,forward,backward\na,4,1\nb,1,2\n");
  in.file("g", "name,forward,backward,parameter_bytes\na,4,1,9\nb,1,2,9\n");
  for (std::string const f : {"f", "g"}) {
    auto const missing = f + ": the column activation_bytes is missing, by which ";
    check_refused(in.ballast("recompute " + f + " --budget 10"),
                  missing + "layers to recompute are chosen; it holds the bytes of each layer");
    check_refused(in.ballast("partition " + f + " --stages 2 --micro-batches 2 --memory 10"),
                  missing + "--memory decides what is recomputed;");
    check_refused(in.ballast("simulate " + f + " --stages 2 --micro-batches 2 --memory 10"), missing + "--memory decides the cut;");
  }
  for (std::string const command : {"partition", "simulate"}) {
    auto const ask = command + " f --stages 2 --micro-batches 2";
    auto const words = in.ballast(ask).out;
    CHECK(words.find("not known\n") != std::string::npos);
    CHECK(words.find("0 bytes") == std::string::npos);
    auto const known = in.ballast(command + " g --stages 2 --micro-batches 2").out;
    CHECK(known.find(" 9 bytes\n") != std::string::npos);
  }
  CHECK(answer(in.ballast("partition f --stages 2 --micro-batches 2 --json"))["memory"] == nlohmann::json({nullptr, nullptr}));
  CHECK(answer(in.ballast("simulate f --stages 2 --micro-batches 2 --json"))["stages"][0]["peak_memory"].is_null());
  in.file("lengths", "3\n5\n");
  in.file("plain", "100\n50\n");
  CHECK(in.ballast("simulate f --stages 2 --lengths lengths --chunk 4").out.find("  not known\n") != std::string::npos);
  check_refused(in.ballast("simulate f --stages 2 --lengths lengths --chunk 4 --memory 9"),
                "f: the column activation_bytes is missing, by which ");
  check_refused(in.ballast("plan plain --capacity 100 --ranks 1 --stages 2 --layers f"),
                "f: the column activation_bytes is missing, by which stages fit their devices;");
}

TEST_CASE("options of the model side that make no sense are refused", "[cli]") {
  scratch const in;
  in.file("f", four);
  struct bad {
    std::string arguments, sentence;
  };
  bad const cases[] = {
      {"partition f --stages 0", "--stages 0: expected a whole number from 1 to 2^31-1\n"},
      {"partition f --stages 2 --memory 100", "--memory requires --micro-batches"},
      {"partition f --stages 2 --micro-batches 1 --memory 1.5Gi",
       "--memory 1.5Gi: expected a whole number of bytes from 0 to 2^58, as in 4096, 80GB or 24GiB\n"},
      {"partition f --stages 2 --micro-batches 1 --memory 300000000Gi", "--memory 300000000Gi: expected a whole number of bytes"},
      {"partition f --stages 2 --micro-batches 1 --memory 1G", "--memory 1G: expected a whole number of bytes"},
      {"partition f --stages 2 --micro-batches 1 --schedule pipedream", "no schedule \"pipedream\"; there are gpipe, 1f1b"},
      {"partition f --stages 2 --micro-batches 1 --schedule zbv", "schedule zbv has 2 chunks a stage, not 1\n"},
      {"recompute f", "--budget is required"},
      {"recompute f --budget 1 --offload 4 --overlap 101", "--overlap 101: expected a percentage from 0 to 100\n"},
      {"simulate f --stages 2 --micro-batches 1 --boundaries 0,4", "--boundaries has 2 numbers; 2 stages of 1 chunk take 3\n"},
      {"simulate f --stages 2 --micro-batches 1 --boundaries 0,5,4", "--boundaries must rise from 0 to the number of layers, 4\n"},
      {"simulate f --stages 2 --micro-batches 1 --boundaries 0,,4", "--boundaries an empty field: expected a whole number from 0"},
      {"simulate f --stages 2 --micro-batches 1 --chunks 2", "--chunks is for --schedule interleaved\n"},
      {"simulate f --stages 2 --micro-batches 3 --schedule interleaved", "micro_batches = 3"},
      {"simulate f --stages 2 --micro-batches 2000000000", "--micro-batches 2000000000: more than 2^26 forwards"},
  };
  for (auto const& c : cases) check_refused(in.ballast(c.arguments), c.sentence);
  check_refused(in.ballast("simulate f --stages 3 --micro-batches 3 --schedule zbv"), "f: 4 layers cannot fill 3 stages of 2 chunks", 3);
  CHECK(in.ballast("partition f --stages 2 --micro-batches 8 --memory 1Ki --json").out ==
        in.ballast("partition f --stages 2 --micro-batches 8 --memory 1024 --json").out);
}

}  // namespace test_cli_model
