// SPDX-License-Identifier: Apache-2.0
#include <ballast/chunks/check.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/methods/chunkflow.hpp>
#include <ballast/pipeline/check.hpp>
#include <ballast/pipeline/list_schedule.hpp>
#include <ballast/sharding/check.hpp>

#include "support/catch.hpp"
#include "support/chat_lengths.hpp"
#include "support/lengths.hpp"
#include "support/measured_memory.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace test_methods_chunkflow {

using ballast::chunkflow::plan_iteration;
using ballast::chunkflow::setting;
using namespace ballast_test;

namespace {

using lengths = std::vector<std::int64_t>;
ballast::token_cost const by_token;

/// A published figure within half a unit of its last digit.
bool rounds_to(double value, double published, double unit) { return std::abs(value - published) <= 0.5 * unit + 1e-9; }

}  // namespace

TEST_CASE("chunkflow: chunks, ranks and timelines are valid, and no plan is faster than the bound", "[property]") {
  ballast::splitmix64 draw(51);
  for (int round = 0; round < 100; round += round_step) {
    setting const by{.chunk_size = between(2, 40, draw),
                     .ranks = static_cast<std::uint64_t>(between(1, 4, draw)),
                     .stages = static_cast<std::uint64_t>(between(1, 5, draw)),
                     .work = {.retained = static_cast<std::uint64_t>(between(1, 5, draw)), .per_chunk = between(0, 30, draw)}};
    auto l = random_lengths(static_cast<std::size_t>(between(0, 30, draw)), by.chunk_size, draw);
    for (auto& length : l)
      if (draw() % 4 == 0) length = between(1, 6 * by.chunk_size, draw);
    ballast::quadratic_cost const cost{.linear = 20, .quadratic = 1};
    auto const out = plan_iteration(l, by, cost);
    CAPTURE(round, l, by.chunk_size, by.ranks, by.stages, by.work.retained);
    CHECK(describe(check_chunks(out.chunks, l, {.size = by.chunk_size})) == "valid");
    CHECK(describe(check_shards(shards_of(out.chunks, out.ranks.sets), l, {.capacity = by.chunk_size, .ranks = by.ranks})) == "valid");
    CHECK(out.time.lower_bound <= out.time.value);
    CHECK(out.time.value >= out.ranks.load.value);
    auto const again = plan_iteration(l, by, cost);
    CHECK(again.time == out.time);
    CHECK(again.peak == out.peak);
    REQUIRE(out.timelines.size() == by.ranks);

    std::int64_t slowest = 0, peak = 0, others = 0;  // `others`: of the same chunks on ranks in turn, without idle stages
    ballast::groups<std::uint32_t> in_turn;
    for (std::uint32_t r = 0; r < by.ranks; ++r) {
      std::vector<std::uint32_t> mine;
      for (auto c = r; c < out.chunks.chains.size(); c += static_cast<std::uint32_t>(by.ranks)) mine.push_back(c);
      in_turn.push_back(mine);
    }
    for (std::size_t r = 0; r < by.ranks; ++r) {
      auto const own = chunks_of(out.chunks, out.ranks.sets[r], {.size = by.chunk_size});
      if (own.size() > 0) {
        auto const works = chunk_work(own, by.work, cost);
        auto const order = ballast::chunked_order(by.stages, own.chains);
        auto const timeline = simulate_order(order, works, true);
        CHECK(check_timeline(timeline, order.stage_of, own.size(), works, own.chains).valid());
        CHECK(timeline.makespan == out.timelines[r].makespan);
        slowest = (std::max)(slowest, timeline.makespan.value);
        for (auto const& s : timeline.stages) peak = (std::max)(peak, s.peak_memory);
      }
      auto const other = chunks_of(out.chunks, in_turn[r], {.size = by.chunk_size});
      if (other.size() > 0)
        others = (std::max)(others,
                            list_schedule(other.chains, {.stages = by.stages}, chunk_work(other, by.work, cost)).timeline.makespan.value);
    }
    CHECK(slowest == out.time.value);
    CHECK(peak == out.peak);
    CHECK(others >= out.time.lower_bound);
  }
}

TEST_CASE("chunkflow: the published example of four samples on four stages") {
  // 1, 1, 2 and 4 units; a backward takes twice the time of a forward.
  lengths const l{1, 1, 2, 4};
  auto const retained = plan_iteration(l, {.chunk_size = 2, .stages = 4, .work = {.retained = 2}}, by_token);
  CHECK(retained.time.value == 46);
  CHECK(rounds_to(100 * retained.bubble(), 47.8, 0.1));
  auto const large = plan_iteration(l, {.chunk_size = 4, .stages = 4}, by_token);
  CHECK(large.chunks.size() == 2);
  CHECK(rounds_to(100 * large.bubble(), 60.0, 0.1));
  // With K = 1, 54.1 % is published. It is not met: 51.9 % of the time is idle, or 55.6 % is not spent on the first forward and backward.
  auto const one = plan_iteration(l, {.chunk_size = 2, .stages = 4, .work = {.retained = 1}}, by_token);
  CHECK(one.time.value == 54);
  CHECK(rounds_to(100 * one.bubble(), 51.9, 0.1));
  CHECK(rounds_to(100 * (1 - 24.0 / 54), 55.6, 0.1));
}

TEST_CASE("chunkflow: published iterations of Qwen2.5-7B with a context of 256K, at K x ChunkSize = 32K") {
  // Published are 29,810, 23,774 and 28,942 ms for global batches of 256. The cost counts earlier tokens of the sample. A chunk takes as
  // long as 1,000 tokens more, which is assumed; and one factor is fitted.
  auto const cost = sample_cost(ballast::transformer_preset("qwen2.5-7b"));
  struct row {
    std::int64_t size;
    std::uint64_t retained;
    double published;
  };
  constexpr std::array rows{row{2048, 16, 29810}, row{8192, 4, 23774}, row{32768, 1, 28942}};
  std::array<double, 3> modelled{}, without{};
  std::array<std::int64_t, 3> peak{};
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    auto const l = chat_lengths(256, 262144, seed);
    for (std::size_t i = 0; i < 3; ++i) {
      setting by{.chunk_size = rows[i].size, .stages = 4, .work = {.retained = rows[i].retained}};
      without[i] += static_cast<double>(plan_iteration(l, by, cost).time.value);
      by.work.per_chunk = 1000 * cost(1);
      auto const out = plan_iteration(l, by, cost);
      modelled[i] += static_cast<double>(out.time.value);
      peak[i] = (std::max)(peak[i], out.peak);
    }
  }
  CHECK(modelled[0] > modelled[2]);
  CHECK(modelled[2] > modelled[1]);
  double low = 1e300, high = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    low = (std::min)(low, rows[i].published / modelled[i]);
    high = (std::max)(high, rows[i].published / modelled[i]);
  }
  CHECK(high / low < 1.08);        // within 4 % of one factor; 20 % was the aim
  CHECK(without[0] < without[1]);  // without a time per chunk, the smallest chunk is the fastest
  // K x ChunkSize is not what a pipeline holds: large chunks have four times as many tokens in flight.
  CHECK(peak[0] <= 32768);
  CHECK(peak[1] <= 32768);
  CHECK(peak[2] > 3 * 32768);
}

TEST_CASE("chunkflow: published memory of Qwen2.5-7B by chunk size and context") {
  auto const rows = chunkflow_rows();
  auto const bytes = ballast::chunkflow::token_bytes(rows[0].model, rows[0].by);
  CHECK(bytes.keys_values == 28 * 2 * 128 * 2);                                                          // one of four heads on each device
  constexpr std::array<std::array<double, 2>, 3> published{{{41.6, 45.6}, {47.5, 50.8}, {59.3, 63.8}}};  // contexts of 32K and 256K
  double worst = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    auto const terms = computed(rows[i]);
    CHECK(terms.kept == bytes.activations * rows[i].tokens);
    std::array<double, 2> total{};
    for (std::size_t context = 0; context < 2; ++context) {
      lengths const chunks(static_cast<std::size_t>((context == 0 ? 32768 : 262144) / rows[i].tokens), rows[i].tokens);
      total[context] = static_cast<double>(terms.states + terms.working + terms.fixed + retained_peak(chunks, 1, bytes)) / gib;
      worst = (std::max)(worst, std::abs(total[context] / published[i][context] - 1));
    }
    // Eight times the context: keys and values take 3.06 GiB more, with their gradients 6.13. Measured are 4.0, 3.3 and 4.5.
    CHECK(std::abs(total[1] - total[0] - 6.125) < 1e-6);
    auto const rise = published[i][1] - published[i][0];
    CHECK(rise > 3.0625);
    CHECK(rise < 6.125);
  }
  CHECK(worst < 0.06);
  auto const slope =
      static_cast<double>(computed(rows[2]).kept + computed(rows[2]).working - computed(rows[0]).kept - computed(rows[0]).working);
  CHECK(std::abs(slope / 3 / gib / 5.9 - 1) < 0.15);
}

TEST_CASE("chunkflow: most micro-batches of one sample need little of the memory that the longest needs") {
  // Published for Qwen2.5-7B on LMSYS-Chat-1M, context 32K, TP 4: the peak is 75 GB, 97.7 % of the micro-steps are below 45 GB.
  auto const rows = chunkflow_rows();
  auto const terms = computed(rows[0]);
  auto const per_token = static_cast<double>(terms.kept + terms.working) / static_cast<double>(rows[0].tokens);
  auto const fits = static_cast<std::int64_t>((45e9 - static_cast<double>(terms.states + terms.fixed)) / per_token);
  auto const l = chat_lengths(100000, 32768, 1);
  auto const below = 1e-3 * static_cast<double>(std::count_if(l.begin(), l.end(), [&](auto n) { return n <= fits; }));
  CHECK(std::abs(below - 97.7) < 1);
}

TEST_CASE("chunkflow: nothing to train, more ranks than chains, misuse") {
  auto const none = plan_iteration(lengths{}, {.chunk_size = 8, .ranks = 2, .stages = 4}, by_token);
  CHECK(none.time == ballast::certificate{});
  CHECK(none.bubble() == 0);
  auto const few = plan_iteration(lengths{20}, {.chunk_size = 8, .ranks = 2, .stages = 4}, by_token);
  CHECK(few.timelines[0].makespan.value + few.timelines[1].makespan.value == few.time.value);
  CHECK(few.bubble() > 0.5);
  CHECK(refusal([] { return plan_iteration(lengths{20}, {.chunk_size = 8, .stages = 0}, by_token); }) == "stages = 0 must be positive");
  CHECK(refusal([] { return plan_iteration(lengths{20}, {}, by_token); }) == "size = 0 must be positive");
  CHECK(refusal([] { return plan_iteration(lengths{20}, {.chunk_size = 8, .ranks = 0}, by_token); }) != "accepted");
  CHECK(refusal([] { return ballast::chunkflow::token_bytes(ballast::transformer_preset("deepseek-v3"), {}); }) ==
        "the model has latent or linear attention, or state spaces: keys and values are not what later chunks need");
}

}  // namespace test_methods_chunkflow
