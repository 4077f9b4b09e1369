// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/evaluate.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace test_cost_evaluate {

using namespace ballast;
using ballast_test::refusal;

namespace {
layer some_layer() {
  return {.name = "block",
          .forward = {.per_token = 5},
          .backward = {.per_token = 9},
          .options = {{.bytes = {.per_token = 7}}, {recomputation::full, {.per_token = 3}, {.per_token = 5}}},
          .boundary = {.per_token = 4}};
}
}  // namespace

TEST_CASE("layer_evaluator: work becomes time and units become bytes, each rounded up once") {
  auto const of = some_layer();
  batch_shape const batch{.tokens = 11};
  layer_evaluator const plain(layer_rates{});  // work is nanoseconds, units are bytes, links take no time
  CHECK(plain(of, of.options[0], batch) == layer_figures{.time = 154, .forward = 55, .backward = 99, .bytes = 77});
  CHECK(plain(of, of.options[1], batch) == layer_figures{.time = 154, .forward = 55, .backward = 99, .recompute = 55, .bytes = 33});
  // 10 units of work a nanosecond, 8 units a byte, a byte in 2 nanoseconds
  layer_evaluator const rated({.work_per_ms = 10'000'000, .units_per_byte = 8, .link_bytes_per_ms = 500'000});
  CHECK(rated(of, of.options[1], batch) ==
        layer_figures{.time = 16, .forward = 6, .backward = 10, .recompute = 6, .transfer = 12, .bytes = 5});
  // a product beyond 64 bits
  layer const big{.name = "big", .forward = {.per_token = std::int64_t{1} << 50}};
  layer_evaluator const slow({.work_per_ms = 3'000'001});
  CHECK(slow(big, {}, {.tokens = 1 << 10}).forward == 384307040099935626);  // 2^60 * 10^6 / 3000001
}

TEST_CASE("layer_evaluator: each part of a layer pays its constant once in a micro-batch", "[property]") {
  std::mt19937 rng(3);
  auto const number = [&] { return static_cast<std::int64_t>(rng() % 50); };
  auto const any = [&] { return batch_cost{number(), number(), number(), number()}; };
  layer_evaluator const plain(layer_rates{});
  for (int round = 0; round < 50; ++round) {
    layer of{.name = "block", .forward = any(), .backward = any(), .options = {{}}, .working = any(), .buffers = 5, .boundary = any()};
    of.options[0] = {.recomputed = recomputation::full, .bytes = any(), .work = any()};
    batch_shape const batch{number(), number(), number()};
    auto without = of;
    for (auto* const cost :
         {&without.forward, &without.backward, &without.working, &without.boundary, &without.options[0].bytes, &without.options[0].work})
      cost->per_batch = 0;
    auto const paid = plain(of, of.options[0], batch), free = plain(without, without.options[0], batch);
    CHECK(paid.forward - free.forward == of.forward.per_batch);
    CHECK(paid.backward - free.backward == of.backward.per_batch);
    CHECK(paid.time == paid.forward + paid.backward);
    CHECK(paid.recompute - free.recompute == of.options[0].work.per_batch);
    CHECK(paid.bytes - free.bytes == of.options[0].bytes.per_batch);
    CHECK(paid.working - free.working == of.working.per_batch);
    CHECK(of.costs_as(without) == (of == without));
  }
}

TEST_CASE("layer_evaluator: a paced layer waits for exchanges, the host and shards", "[property]") {
  std::mt19937_64 draw(7);
  auto const below = [&](std::int64_t most) { return static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(most)); };
  layer_evaluator const evaluate{layer_rates{}};  // a unit is a nanosecond
  for (int round = 0; round < 2000; ++round) {
    layer of{.name = "paced", .options = {{}}};
    of.forward = {below(9), below(3), 0, below(5000)};
    of.backward = {below(9), below(3), 0, below(5000)};
    of.pace = {.forward = {.per_token = below(4), .per_batch = below(500)},
               .backward = {.per_token = below(4), .per_batch = below(500)},
               .host_forward = below(2) * below(20'000),
               .host_backward = below(2) * below(20'000),
               .copied_forward = below(200),
               .copied_backward = below(200),
               .shards_forward = below(2) * below(20'000),
               .shards_backward = below(2) * below(20'000),
               .stolen = below(1001),
               .step = below(1000)};
    batch_shape const batch{.tokens = below(1000), .squares = below(2000), .tiles = 0};
    auto const waits = evaluate.waits(of, batch);
    auto const pass = [&](batch_cost const& work, batch_cost const& exchange, std::int64_t host, std::int64_t copied, std::int64_t shards) {
      auto const alone =
          std::max<double>(static_cast<double>(work(batch) + exchange(batch)), static_cast<double>(host)) + static_cast<double>(copied);
      auto const beside = static_cast<double>(shards);
      return std::max(alone + std::min(alone, beside) * static_cast<double>(of.pace.stolen) / 1000, beside) -
             static_cast<double>(work(batch));
    };
    auto const& p = of.pace;
    CHECK(std::fabs(static_cast<double>(waits.forward) - pass(of.forward, p.forward, p.host_forward, p.copied_forward, p.shards_forward)) <=
          1);
    CHECK(std::fabs(static_cast<double>(waits.backward) -
                    pass(of.backward, p.backward, p.host_backward, p.copied_backward, p.shards_backward)) <= 1);
    CHECK(static_cast<double>(waits.again) == pass(of.forward, p.forward, p.host_forward, 0, 0));
    CHECK(evaluate.end_of_step(of) == step_end{.exchange = p.step, .optimizer = 0});
  }
  auto bad = some_layer();
  bad.pace.stolen = 1001;
  auto const refused = [&] {
    return refusal([&] {
      evaluate.require_fits(std::span(&bad, 1), {.tokens = 1});
      return 0;
    });
  };
  CHECK(refused() == "layer \"block\" has pace.stolen outside [0, 1000]");
  bad.pace = {.shards_forward = -1};
  CHECK(refused() == "layer \"block\" has a negative cost, or brings a sum to 2^63");
}

TEST_CASE("layer_evaluator: a micro-batch hides a part of the exchange at the end of a step, a part always shows") {
  layer_evaluator const plain{layer_rates{}}, hides{layer_rates{.step = 50, .gradient_hidden = 700, .gradient_least = 100}};
  step_end const of{.exchange = 10'000, .optimizer = 300};
  CHECK(plain.behind(of, 1'000'000) == of);
  for (std::int64_t batch = 0; batch < 30'000; batch += 100) {
    auto const end = hides.behind(of, batch);
    CHECK((end.exchange == (std::max)(std::int64_t{1000}, 10'000 - batch * 7 / 10) && end.optimizer == 350));
  }
  CHECK(hides.behind(of, (std::numeric_limits<std::int64_t>::max)()).exchange == 1000);
  CHECK(refusal([] { return layer_evaluator{layer_rates{.step = -1}}.behind({}, 0).exchange; }) ==
        "step = -1 must be in [0, 288230376151711744]");
  CHECK(refusal([] { return layer_evaluator{layer_rates{.gradient_least = 1001}}.behind({}, 0).exchange; }) ==
        "gradient_least = 1001 must be in [0, 1000]");
}

TEST_CASE("layer_evaluator: what makes no sense throws, and so does what comes near to 2^63") {
  auto const thrown = [](std::vector<layer> const& layers, std::int64_t tokens, layer_rates const& rates = {}) {
    return refusal([&] {
      layer_evaluator(rates).require_fits(layers, {.tokens = tokens});
      return 0;
    });
  };
  auto const of = some_layer();
  CHECK(thrown({of, of}, 1 << 20) == "accepted");
  CHECK(thrown({}, 1, {.work_per_ms = 0}) == "work_per_ms = 0 must be at least 1");
  CHECK(thrown({}, 1, {.units_per_byte = 0}) == "units_per_byte = 0 must be at least 1");
  CHECK(thrown({}, 1, {.link_bytes_per_ms = -1}) == "link_bytes_per_ms = -1 must be at least 0");
  auto bad = of;
  bad.options.clear();
  CHECK(thrown({of, bad}, 1) == "layer \"block\" has no options");
  bad = of;
  bad.options[1].work.per_square = -1;
  CHECK(thrown({bad}, 1) == "layer \"block\" has a negative cost, or brings a sum to 2^63");
  bad = of;
  bad.forward.per_batch = -1;
  CHECK(thrown({bad}, 1) == "layer \"block\" has a negative cost, or brings a sum to 2^63");
  bad.forward.per_batch = bad.backward.per_batch = std::int64_t{1} << 62;
  CHECK(thrown({bad}, 1) == "layer \"block\" has a negative cost, or brings a sum to 2^63");
  // forward, backward and all options together: 19 a token, 10 bytes of it
  auto const most = (std::int64_t{1} << 58) - 1;
  CHECK(thrown({of}, most / 19) == "accepted");
  for (int k = 0; k < 56; ++k) {  // with a million nanoseconds for a unit of work, also from 2^63 to 2^64 and beyond
    auto const tokens = std::int64_t{1} << k;
    CAPTURE(k);
    CHECK((thrown({of}, tokens, {.work_per_ms = 1}) == "accepted") == (tokens <= most / 19'000'000));
  }
  CHECK(thrown({of}, most / 19 + 1) == "layer \"block\" brings the nanoseconds of the largest micro-batch to 2^58 or more");
  bad = of;  // the constant counts with what tokens cost
  bad.backward.per_batch = most - 19 * 1000;
  CHECK(thrown({bad}, 1000) == "accepted");
  CHECK(thrown({bad}, 1001) == "layer \"block\" brings the nanoseconds of the largest micro-batch to 2^58 or more");
  CHECK(thrown({of}, most / 10 + 1, {.work_per_ms = 1'000'000'000}) ==
        "layer \"block\" brings the bytes of the largest micro-batch to 2^58 or more");
  CHECK(thrown({of}, 1 << 20, {.link_bytes_per_ms = 1}) == "accepted");
  CHECK(thrown({of}, std::int64_t{1} << 40, {.link_bytes_per_ms = 1}) ==
        "layer \"block\" hands on bytes that take 2^58 nanoseconds or more");
}

}  // namespace test_cost_evaluate
