// SPDX-License-Identifier: Apache-2.0
#include <ballast/chunks/chunk_work.hpp>
#include <ballast/cost/chain_cost.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/pipeline/simulate.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_chunks_chunk_work {

using ballast::chunk_work;
using ballast::make_chunks;
using ballast::stage_work;
using namespace ballast_test;

namespace {
using lengths = std::vector<std::int64_t>;
ballast::token_cost const by_token;

/// All forwards of a chain, then its backwards, on one stage.
ballast::pipeline_order one_stage(std::uint32_t chunks) {
  ballast::pipeline_order order;
  order.micro_batches = chunks;
  order.stage_of = {0};
  for (std::uint32_t k = 0; k < chunks; ++k) order.tasks.push_back({k, 0, ballast::pipeline_pass::forward});
  for (auto k = chunks; k-- > 0;) order.tasks.push_back({k, 0, ballast::pipeline_pass::backward});
  order.offsets = {0, order.tasks.size()};
  return order;
}
}  // namespace

TEST_CASE("chunk_work: what is not retained runs forward again and holds only keys and values") {
  auto const plan = make_chunks(lengths{3, 20}, {.size = 8});  // 3; 8, 8, 4
  ballast::chunk_work_options const o{
      .retained = 2, .per_chunk = 1, .transfer = 3, .per_token = {.activations = 100, .keys_values = 10, .key_gradients = 1}};
  auto const works = chunk_work(plan, o, by_token);
  REQUIRE(works.of_chunk.size() == 4);
  CHECK(works(0, 0) == stage_work{.forward = 4, .backward = 8, .transfer = 9, .kept = 300});
  CHECK(works(7, 1) == stage_work{.forward = 9, .backward = 18, .recompute = 9, .transfer = 24, .kept = 88, .recomputed = 800});
  CHECK(works(0, 2) == stage_work{.forward = 9, .backward = 18, .transfer = 24, .kept = 888});
  CHECK(works(0, 3) == stage_work{.forward = 5, .backward = 10, .transfer = 12, .kept = 444});
  auto const other = chunk_work(plan, {.retained = 9, .forward = 3, .backward = 7}, by_token);
  CHECK(other(0, 1) == stage_work{.forward = 24, .backward = 56, .kept = 8});
}

TEST_CASE("chunk_work: the simulated peak of a chain is the closed formula, its time has N - K more forwards", "[property]") {
  ballast::splitmix64 draw(9);
  for (int round = 0; round < 300; ++round) {
    auto const size = between(1, 20, draw), length = between(size + 1, 12 * size, draw);
    auto const k = static_cast<std::uint64_t>(between(1, 14, draw));
    // Gradients of keys and values are counted from the forward on, so the formula bounds what a run without them holds.
    ballast::chunk_bytes const bytes{.activations = between(0, 50, draw), .keys_values = between(0, 9, draw)};
    auto const plan = make_chunks(lengths{length}, {.size = size});
    auto const works = chunk_work(plan, {.retained = k, .per_token = bytes}, by_token);
    auto const run = simulate_order(one_stage(static_cast<std::uint32_t>(plan.size())), works);
    lengths tokens;
    std::int64_t again = 0;
    for (std::size_t c = 0; c < plan.size(); ++c) {
      tokens.push_back(plan.tokens(c));
      if (plan.size() - c > k) again += plan.tokens(c);
    }
    CAPTURE(round, size, length, k);
    CHECK(run.stages[0].peak_memory == retained_peak(tokens, k, bytes));
    CHECK(run.makespan.value == 3 * length + again);
  }
}

TEST_CASE("chunk_work: a sample in chunks takes its cost, and the constant of its layers in each chunk", "[property]") {
  ballast::splitmix64 draw(12);
  for (int round = 0; round < 50; ++round) {
    std::vector<ballast::layer> layers(3, {.name = "block", .options = {{}}});
    for (auto& l : layers)
      l.forward = {.per_token = between(1, 9, draw), .per_square = between(0, 3, draw), .per_batch = between(0, 500, draw)};
    auto const cost = ballast::chain_cost_of(layers, {}, {.work_per_ms = 1'000'000'000});
    auto const size = between(1, 40, draw), length = between(1, 300, draw);
    auto const plan = make_chunks(lengths{length}, {.size = size});
    auto const works = chunk_work(plan, {.retained = plan.size(), .per_chunk = cost.per_micro_batch}, cost.tokens);
    std::int64_t forward = 0;
    for (auto const& w : works.of_chunk) forward += w.forward;
    CHECK(forward == cost.tokens(length) + static_cast<std::int64_t>(plan.size()) * cost.per_micro_batch);
  }
}

TEST_CASE("chunk_work: refuses misuse") {
  auto const plan = make_chunks(lengths{3, 20}, {.size = 8});
  CHECK(refusal([&] { return chunk_work(plan, {.retained = 0}, by_token); }) ==
        "retained = 0 must be positive: the last chunk of a chain runs backward at once");
  CHECK(refusal([&] { return chunk_work(plan, {.backward = -2}, by_token); }) == "backward = -2 must not be negative");
  CHECK(refusal([&] { return chunk_work(plan, {.per_chunk = -2}, by_token); }) == "per_chunk of chunk[0] = -2 must not be negative");
  CHECK(refusal([&] { return chunk_work(plan, {.per_token = {.keys_values = -1}}, by_token); }) ==
        "per_token.keys_values = -1 must not be negative");
  CHECK(refusal([&] { return chunk_work(plan, {.per_token = {.activations = std::int64_t{1} << 60}}, by_token); }) ==
        "a time or the bytes of chunk 1 reach 2^63");
  CHECK(refusal([&] {
          return chunk_work(
              plan, {.retained = 3, .per_token = {.activations = std::int64_t{7} << 57, .keys_values = std::int64_t{2} << 57}}, by_token);
        }) == "the bytes of chunk 1 reach 2^63");
}

}  // namespace test_chunks_chunk_work
