// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "program.hpp"
#include "readers/dimensions.hpp"
#include "readers/graph.hpp"
#include "refused.hpp"
#include "support/catch.hpp"
#include "support/rounds.hpp"

#include <ballast/graph/symbolic_graph.hpp>
#include <ballast/memory/peak.hpp>
#include <ballast/recompute/graph/check_eviction.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace test_cli_symbolic_order {

namespace {

using namespace ballast_test;
using namespace ballast_cli;
using ballast::dimension;
using ballast::memory_event;
using ballast::symbolic;
using nlohmann::json;

std::vector<dimension> const both{{"batch", 1, 8}, {"length", 16, 256}};
std::string const ranges = " --dimensions batch=1..8,length=16..256";

/// Layers of a forward and a backward pass over tokens: an activation that the backward reads again, and scores in length^2.
std::string layers(int count, std::string const& activation = "64 batch length") {
  std::string operators, tensors = R"({"name": "x0", "bytes": "4 batch*length"})";
  auto const name = [](char const* of, int i) { return "\"" + (of + std::to_string(i)) + "\""; };
  for (int i = 1; i <= count; ++i) {
    operators += "{\"name\": " + name("scores", i) + ", \"time\": \"8 batch length^2\", \"inputs\": [" + name("x", i - 1) +
                 "], \"outputs\": [" + name("s", i) + "]},\n{\"name\": " + name("forward", i) + ", \"time\": \"batch length + 50\"," +
                 "\"workspace\": 100, \"inputs\": [" + name("s", i) + "], \"outputs\": [" + name("x", i) + "]},\n";
    tensors += ",\n{\"name\": " + name("s", i) + ", \"bytes\": \"2 batch length**2\"}, {\"name\": " + name("x", i) + ", \"bytes\": \"" +
               activation + "\"}";
  }
  operators += "{\"name\": \"loss\", \"time\": 1, \"kind\": \"backward\", \"inputs\": [" + name("x", count) + "], \"outputs\": [" +
               name("g", count) + "]}";
  tensors += ", {\"name\": " + name("g", count) + ", \"bytes\": \"16 batch length\"}";
  for (int i = count; i >= 1; --i) {
    operators += ",\n{\"name\": " + name("backward", i) + ", \"time\": \"9 length * length batch\", \"kind\": \"backward\", \"inputs\": [" +
                 name("s", i) + ", " + name("x", i - 1) + ", " + name("g", i) + "], \"outputs\": [" + name("g", i - 1) + "]}";
    tensors += ", {\"name\": " + name("g", i - 1) + ", \"bytes\": \"16 batch length\", \"kept\": " + (i == 1 ? "true" : "false") + "}";
  }
  return "{\"operators\": [" + operators + "],\n\"tensors\": [" + tensors + "]}";
}

json order_figures(scratch const& in, std::string const& arguments) {
  auto const o = in.ballast("order " + arguments + " --json");
  CAPTURE(o.err);
  REQUIRE(o.code == 0);
  return json::parse(o.out);
}

std::uint32_t index_in(auto const& entries, std::string const& name) {
  for (std::uint32_t i = 0; i < entries.size(); ++i)
    if (entries[i].name == name) return i;
  FAIL("no such name: " + name);
  return 0;
}

/// The events of a batch as the library's validator reads them.
std::vector<memory_event> events_of(json const& batch, ballast::graph const& graph) {
  std::vector<memory_event> out;
  for (auto const& e : batch["events"]) {
    using enum memory_event::action;
    auto const word = e[0].get<std::string>(), name = e[1].get<std::string>();
    auto const what = word == "run" ? run : word == "rerun" ? rerun : word == "drop" ? drop : word == "store" ? store : load;
    CHECK((what != load || word == "load"));
    out.push_back({what, what == run || what == rerun ? index_in(graph.operators, name) : index_in(graph.tensors, name)});
  }
  return out;
}

std::string refusal_of(auto const& read) {
  try {
    (void)read();
  } catch (bad_input const& e) {
    return e.what();
  }
  return "read";
}

}  // namespace

TEST_CASE("polynomials: terms, signs and powers in any form, and one sentence for what is none", "[cli][symbolic_order]") {
  auto const batch = symbolic::of(0), length = symbolic::of(1);
  auto const read = [](std::string const& text) { return read_polynomial(text, both); };
  CHECK(read("4 batch length^2 + 12") == 4 * batch * length * length + 12);
  CHECK(read("4*batch*length**2+12") == 4 * batch * length * length + 12);
  CHECK(read(" length 2 length - 3batch") == 2 * length * length - 3 * batch);
  CHECK(read("-batch + batch") == symbolic{});
  CHECK(read("7") == symbolic(7));
  for (auto const& p : {4 * batch * length * length + 12, 2 * length - 3 * batch, symbolic{}, batch - 1})
    CHECK(read(ballast::to_string(p, both)) == p);
  auto const refused = [&](std::string const& text) { return refusal_of([&] { return read(text); }); };
  std::string const malformed = R"(: expected a polynomial of whole numbers and dimensions, as in "4 batch length^2 + 12")";
  for (std::string const text : {"batch +", "* batch", "batch^length", "2^3", "1.5 batch", "(batch)", "batch / 2", "+ 4", "batch ^"})
    CHECK(refused(text) == text + malformed);
  CHECK(refused("") == "an empty field" + malformed);
  CHECK(refused("3 bacth") == "3 bacth: there is no dimension bacth; --dimensions has batch, length; did you mean batch?");
  CHECK(refused("4611686018427387904") == "4611686018427387904: a number in it is above 2^62-1");
  CHECK(refused("4611686018427387903 * 4 batch") == "4611686018427387903 * 4 batch: a coefficient reaches 2^63, or a power 256");
  CHECK(refused("batch^256") == "batch^256: a power is above 255");
  CHECK(refused("batch^200 batch^100") == "batch^200 batch^100: a coefficient reaches 2^63, or a power 256");
}

TEST_CASE("dimensions: ranges and values, and one sentence for what is none", "[cli][symbolic_order]") {
  auto const found = read_dimensions("--dimensions", "batch=1..64,length=4096,_k2=0..4611686018427387903");
  REQUIRE(found.size() == 3);
  CHECK((found[0].name == "batch" && found[0].low == 1 && found[0].high == 64));
  CHECK((found[1].name == "length" && found[1].low == 4096 && found[1].high == 4096));
  CHECK((found[2].name == "_k2" && found[2].low == 0 && found[2].high == (std::int64_t{1} << 62) - 1));
  auto const range = [](std::string const& text) { return refusal_of([&] { return read_dimensions("--dimensions", text); }); };
  std::string const expected = ": expected NAME=LOW..HIGH with whole numbers from 0 to 2^62-1, as in batch=1..64,length=16..4096";
  for (std::string const text : {"batch", "batch=", "batch=-1..64", "batch=1..-64", "batch=1..", "batch=1.5..2", "2k=1..2", "batch=1..64k",
                                 "batch=1..4611686018427387904"})
    CHECK(range(text) == "--dimensions " + text + expected);
  CHECK(range("batch=1..2,") == "--dimensions an empty field" + expected);
  CHECK(range("batch=64..1") == "--dimensions batch=64..1: the range ends before it begins; write the smaller number first");
  CHECK(range("batch=1..2,batch=3") == "--dimensions batch=3: the dimension batch is named twice");

  CHECK(read_values("--values", "length=16,batch=8", both) == std::vector<std::int64_t>{8, 16});
  auto const values = [](std::string const& text) { return refusal_of([&] { return read_values("--values", text, both); }); };
  CHECK(values("batch=8") == "--values batch=8: the dimension length has no value");
  CHECK(values("batch=8,width=3") == "--values width=3: there is no dimension width; --dimensions has batch, length");
  CHECK(values("batch=9,length=16") == "--values batch=9: --dimensions has batch from 1 to 8");
  CHECK(values("batch=8,batch=8,length=16") == "--values batch=8: the dimension batch has two values");
  CHECK(values("batch=eight") == "--values batch=eight: expected NAME=VALUE with whole numbers, as in batch=8,length=512");
}

TEST_CASE("graph: sizes that are polynomials are read and written", "[cli][symbolic_order]") {
  auto const graph = read_symbolic_graph(layers(2), "f", both);
  auto const batch = symbolic::of(0), length = symbolic::of(1);
  CHECK(graph.tensors[0].bytes == 4 * batch * length);
  CHECK(graph.tensors[1].bytes == 2 * batch * length * length);
  CHECK(graph.operators[1].time == batch * length + 50);
  CHECK(graph.operators[1].workspace == symbolic(100));
  CHECK(read_symbolic_graph(graph_json(graph, both), "f", both) == graph);
  auto const of = [](std::string const& activation, std::vector<dimension> const& dimensions) {
    return refusal_of([&] { return read_symbolic_graph(layers(2, activation), "f", dimensions); });
  };
  CHECK(of("3 batch - 4", both) == "f: tensors[2] (x1): bytes: 3 batch - 4: may be negative within --dimensions");
  CHECK(of("3 batch - 4", {{"batch", 2, 8}, {"length", 16, 256}}) == "read");
  CHECK(of("3 width", both) == "f: tensors[2] (x1): bytes: 3 width: there is no dimension width; --dimensions has batch, length");
  CHECK(refusal_of([] { return read_graph(layers(2), "f"); }) ==
        "f: tensors[0] (x0): bytes: \"4 batch*length\" is not a whole number from 0 to 2^62-1; for a polynomial, give --dimensions");
}

TEST_CASE("order: every batch has an order that can run, and events that keep its limit", "[cli][symbolic_order]") {
  scratch const in;
  auto const text = layers(4);
  in.file("g.json", text);
  auto const graph = read_symbolic_graph(text, "f", both);
  std::string asked = "g.json" + ranges;
  std::vector<std::array<std::int64_t, 2>> batches;
  for (std::int64_t const length : {16, 37, 100, 256})
    for (std::int64_t const batch : {1, 3, 8}) {
      batches.push_back({batch, length});
      asked += " --values length=" + std::to_string(length) + ",batch=" + std::to_string(batch);
    }
  auto const plain = order_figures(in, asked);
  CHECK(plain["dimensions"] == json{{"batch", {1, 8}}, {"length", {16, 256}}});
  CHECK(plain["regions"].get<std::size_t>() >= plain["orders"].size());
  REQUIRE(plain["batches"].size() == batches.size());
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    auto const& batch = plain["batches"][i];
    auto const numbers = graph_at(graph, batches[i]);
    CHECK(batch["values"] == json{{"batch", batches[i][0]}, {"length", batches[i][1]}});
    std::vector<std::uint32_t> order;
    for (auto const& name : plain["orders"][batch["order"].get<std::size_t>()]) order.push_back(index_in(numbers.operators, name));
    auto const peak = batch["peak"].get<std::int64_t>();
    CHECK(evaluate_order(numbers, order).peak == peak);
    CHECK(batch["alone"]["lower_bound"].get<std::int64_t>() <= peak);
    CHECK(batch["alone"]["peak"].get<std::int64_t>() <= peak);
    CHECK(batch["limit"] == peak);
    CHECK(batch["memory"] == peak);
    CHECK(batch["added_time"] == 0);
    CHECK(check_eviction(numbers, events_of(batch, numbers), peak) == ballast::verdict{});
    largest = std::max(largest, peak);
  }
  for (std::string const moving : {"", " --time-per-megabyte 1000"}) {
    auto const limit = largest * 7 / 10;
    auto const limited = order_figures(in, asked + " --budget " + std::to_string(limit) + moving);
    int evicting = 0;
    for (std::size_t i = 0; i < batches.size(); ++i) {
      auto const& batch = limited["batches"][i];
      auto const numbers = graph_at(graph, batches[i]);
      REQUIRE(batch.contains("events"));
      CHECK(batch["memory"].get<std::int64_t>() <= limit);
      CHECK(batch["added_time"].get<std::int64_t>() >= batch["least_added_time"].get<std::int64_t>());
      CHECK((batch["moved"] == 0 || !moving.empty()));
      CHECK(check_eviction(numbers, events_of(batch, numbers), limit) == ballast::verdict{});
      evicting += batch["added_time"] > 0 ? 1 : 0;
    }
    CHECK(evicting > 0);
    CHECK(evicting < static_cast<int>(batches.size()));
  }
}

TEST_CASE("order: a batch without a run within the budget says so", "[cli][symbolic_order]") {
  scratch const in;
  in.file("g.json", layers(2));
  auto const asked = "g.json" + ranges + " --values batch=8,length=256 --values batch=1,length=16 --budget 100kB";
  auto const figures = order_figures(in, asked);
  auto const& large = figures["batches"][0];
  CHECK_FALSE(large.contains("events"));
  auto const least = "at least " + std::to_string(large["lower_bound"].get<std::int64_t>() / 1'000'000) + ",";
  std::string const sentence = "batch=8,length=256: no run of this order keeps --budget 100,000 bytes: " + least;
  CHECK(large["no_run"].get<std::string>().substr(0, sentence.size()) == sentence);
  CHECK(figures["batches"][1].contains("events"));
  auto const words = in.ballast("order " + asked);
  CHECK(words.code == 0);
  CHECK(words.out.find("\n" + sentence) != std::string::npos);
  CHECK(words.out.find("\nbatch=1,length=16: nothing has to be evicted.\n") != std::string::npos);
  check_refused(in.ballast("order g.json" + ranges + " --values batch=8,length=256 --budget 100kB"), "g.json: " + sentence, 3);
}

TEST_CASE("order: the graph of a model over dimensions", "[cli][symbolic_order]") {
  if (sanitized) return;  // takes minutes; other tests run the same code
  scratch const in;
  std::string const long_ranges = " --dimensions batch=1..8,length=16..4096";
  auto const of = [&](std::string const& what) { return order_figures(in, what + " --values batch=2,length=2048"); };
  auto const made = of("--model qwen2.5-0.5b" + long_ranges + " --write-graph g.json");
  auto const read = of("g.json" + long_ranges);
  CHECK(read["batches"] == made["batches"]);
  auto const known = order_figures(in, "--model qwen2.5-0.5b --length 2048 --batch 2");
  CHECK(made["batches"][0]["alone"]["peak"] == known["peak"]);
  CHECK(made["batches"][0]["peak"] == known["peak"]);
  auto const half = order_figures(in, "--model qwen2.5-0.5b --batch 2 --dimensions length=16..4096 --values length=2048");
  CHECK(half["batches"][0]["peak"] == known["peak"]);

  auto const refused = [&](std::string const& arguments, std::string const& sentence) {
    check_refused(in.ballast("order " + arguments), sentence);
  };
  refused("--model gpt2-xl --dimensions batch=1..2", "--model requires --length, or --dimensions with length=LOW..HIGH\n");
  refused("--model gpt2-xl --length 8" + ranges, "order: --length and the dimension length say the same; leave one of them out\n");
  refused("--model gpt2-xl --dimensions length=1..8,width=3", "--dimensions width: the dimensions of --model are batch and length\n");
  refused(
      "--model gpt2-xl --dimensions length=1..4611686018427387903",
      "gpt2-xl: the bytes of all tensors and workspaces together may reach 2^62 within --dimensions; end the ranges at smaller numbers\n");
  refused("g.json --values batch=1,length=16", "--values requires --dimensions\n");
  refused("g.json --layout" + ranges, "--layout excludes --dimensions\n");
  refused("g.json --time-per-megabyte 3" + ranges, "--time-per-megabyte requires --budget\n");
  refused("g.json --dimensions batch=-1..2,length=8", "--dimensions batch=-1..2: expected NAME=LOW..HIGH with whole numbers from 0 ");
  refused("g.json" + ranges + " --values batch=2", "--values batch=2: the dimension length has no value\n");
}

}  // namespace test_cli_symbolic_order
