// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/chain_cost.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace test_cost_chain_cost {

using namespace ballast;
using ballast_test::refusal;

namespace {
/// Picoseconds are the unit of work.
layer_rates const in_picoseconds{.work_per_ms = 1'000'000'000};

std::vector<layer> random_chain(std::mt19937& rng, std::size_t layers) {
  auto const number = [&](unsigned most) { return static_cast<std::int64_t>(rng() % most); };
  auto const any = [&] { return batch_cost{number(3'000'000), number(60), number(90'000'000), number(400'000'000)}; };
  std::vector<layer> out(layers);
  for (auto& l : out) {
    l.name = "block";
    l.forward = any();
    l.backward = any();
    l.options = {{}, {.recomputed = recomputation::full, .work = l.forward}};
  }
  return out;
}
}  // namespace

TEST_CASE("chain_cost_of: a micro-batch costs what its layers take, and pays their constants once", "[property]") {
  std::mt19937 rng(11);
  for (int round = 0; round < 40; ++round) {
    auto const layers = random_chain(rng, 1 + rng() % 8);
    std::vector<std::uint32_t> option(layers.size());
    for (auto& o : option) o = static_cast<std::uint32_t>(rng() % 2);
    auto const cost = chain_cost_of(layers, {}, in_picoseconds, 1, option);
    layer_evaluator const in_units(layer_rates{});  // a unit of work is a nanosecond there: nothing is rounded
    std::int64_t samples = 0;
    batch_shape batch;
    for (auto n = 1 + rng() % 5; n-- > 0;) {
      std::array<std::int64_t, 2> const sample{static_cast<std::int64_t>(rng() % 4), static_cast<std::int64_t>(1 + rng() % 5000)};
      REQUIRE(cost.fits(sample));
      samples += cost(sample);
      batch.tiles += sample[0];
      batch.tokens += sample[1];
      batch.squares += sample[1] * sample[1];
    }
    std::int64_t evaluated = 0;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      auto const figures = in_units(layers[i], layers[i].options[option[i]], batch);
      evaluated += figures.time + figures.recompute;
    }
    CHECK(samples + cost.per_micro_batch == evaluated);
    CHECK(chain_cost_of(layers, {}, in_picoseconds).per_micro_batch <= cost.per_micro_batch);  // what is computed again pays it again
  }
}

TEST_CASE("chain_cost_of: coarse units are rounded up once, and FLOPs become time") {
  std::vector<layer> const layers{{.name = "a", .forward = {100, 3, 10, 5}, .backward = {50, 0, 0, 6}, .options = {{}}},
                                  {.name = "b", .forward = {1, 1, 1, 1}, .backward = {}, .options = {{}}}};
  CHECK(chain_cost_of(layers, {}, in_picoseconds) == chain_cost{{151, 4}, 11, 12, 1});
  CHECK(chain_cost_of(layers, {}, in_picoseconds, 10) == chain_cost{{16, 1}, 2, 2, 10});
  CHECK(chain_cost_of(layers, {}, {.work_per_ms = 500'000'000}) == chain_cost{{302, 8}, 22, 24, 1});  // 2 picoseconds for each FLOP
  CHECK(chain_cost_of(layers, {}) == chain_cost{{151'000, 4'000}, 11'000, 12'000, 1});                // nanoseconds
  CHECK(chain_cost_of({}, {}) == chain_cost{});
  CHECK(chain_cost_of(layers, {}, in_picoseconds, 10).ms_per_unit() == 1e-8);
}

TEST_CASE("chain_cost_of: waits are spread over tokens, and what is exchanged without any is part of the constant") {
  rank_group const pair{.ranks = 2};
  layer const gathered{
      .name = "a",
      .options = {{}},
      .exchanges = {
          {.what = traffic::parameter, .how = collective::all_gather, .over = pair, .when = exchange_phase::forward, .bytes = 1'000'000},
          {.what = traffic::tensor,
           .how = collective::all_reduce,
           .over = pair,
           .when = exchange_phase::backward,
           .bytes_of_batch = {.per_token = 64}}}};
  layer_rates rates = in_picoseconds;
  rates.links.inside = link_line{5'000'000, 1'000'000'000};
  std::vector<layer> const layers(3, gathered);
  batch_shape const at{.tokens = 4096};
  auto const cost = chain_cost_of(layers, at, rates);
  layer_evaluator const evaluate(rates);
  auto const none = evaluate.waits(gathered, {}), all = evaluate.waits(gathered, at);
  REQUIRE(none.forward > 0);
  REQUIRE(all.backward > none.backward);
  CHECK(cost.per_micro_batch == 3 * 1000 * (none.forward + none.backward));
  auto const line = cost.tokens(at.tokens) + cost.per_micro_batch, waits = 3 * 1000 * (all.forward + all.backward);
  CHECK((line >= waits && line < waits + at.tokens));  // a picosecond a token, rounded up
}

TEST_CASE("chain_cost_of: what is out of range is refused in one sentence") {
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  layer const one{.name = "one", .forward = {.per_token = 1}, .options = {{}}};
  auto const made = [](std::vector<layer> const& layers, layer_rates const& rates = in_picoseconds, std::int64_t unit = 1,
                       std::vector<std::uint32_t> const& option = {}) {
    return refusal([&] { return chain_cost_of(layers, {}, rates, unit, option); });
  };
  CHECK(made({one}) == "accepted");
  CHECK(made({one}, {}, 0) == "picoseconds = 0 of a unit must be in 1 ... 10^6");
  CHECK(made({one}, {}, 1'000'001) == "picoseconds = 1000001 of a unit must be in 1 ... 10^6");
  CHECK(made({one}, {}, 1, {0, 0}) == "option has 2 entries for 1 layer");
  CHECK(made({one}, {}, 1, {1}) == "option[0] = 1: layer \"one\" has 1 option");
  CHECK(made({one}, {.work_per_ms = most}, 2) == "work_per_ms = 9223372036854775807 times 2 picoseconds reaches 2^63");
  auto big = one;
  big.forward.per_token = (std::int64_t{1} << 58) - 1;
  CHECK(made({big}) == "accepted");
  CHECK(made({big, one}) == "the layers bring the time of a token to 2^58 units or more: take more picoseconds in a unit");
  CHECK(made({big, one}, in_picoseconds, 2) == "accepted");
  std::vector<layer> many(32, big);
  many.push_back({.name = "last", .forward = {.per_token = 32}, .options = {{}}});
  CHECK(made(many) == "layer \"last\" has a negative cost, or brings a sum to 2^63");
}

TEST_CASE("level_time_of: each device of a pack pays the constant") {
  chain_cost const cost{.tokens = {.linear = 7, .quadratic = 3}, .per_micro_batch = 11};
  CHECK(level_time_of(cost, 4) == level_time{.per_pack = 44, .per_token = 28, .per_square = 12});
  auto coarse = cost;
  coarse.picoseconds = 8;
  CHECK(refusal([&] { return level_time_of(coarse, 1); }) == "a unit of 8 picoseconds: the time of a level is in single ones");
  CHECK(refusal([&] { return level_time_of(cost, 0); }) == "sp = 0 must be positive");
  auto slow = cost;
  slow.per_micro_batch = std::int64_t{1} << 61;
  CHECK(refusal([&] { return level_time_of(slow, 3); }) == "accepted");
  CHECK(refusal([&] { return level_time_of(slow, 4); }) == "2305843009213693952 picoseconds on each of 4 devices reach 2^63");
}

}  // namespace test_cost_chain_cost
