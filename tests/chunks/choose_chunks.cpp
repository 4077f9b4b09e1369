// SPDX-License-Identifier: Apache-2.0
#include <ballast/chunks/choose_chunks.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/pipeline/simulate.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/progress_log.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

namespace test_chunks_choose_chunks {

using ballast::choose_chunks;
using ballast::chunk_choice_options;
using ballast::status;
using ballast_test::between;
using ballast_test::refusal;
using lengths_t = std::vector<std::int64_t>;

constexpr ballast::quadratic_cost cost{.linear = 400, .quadratic = 1};

chunk_choice_options random_options(ballast::splitmix64& draw) {
  chunk_choice_options o;
  o.ranks = 1 + draw() % 3;
  o.stages = 1 + draw() % 4;
  o.work.per_chunk = between(1, 40'000, draw);
  o.work.per_token = {.activations = between(1, 9, draw), .keys_values = between(0, 2, draw)};
  o.capacity = between(500, 6000, draw);
  for (auto n = draw() % 5; n > 0; --n) o.settings.push_back({between(20, 400, draw), 1 + draw() % 6});
  return o;
}

/// The work of each chunk of a rank, in the order in which its schedule numbers them.
ballast::chunk_works works_of(ballast::chunk_choice<> const& choice, std::size_t rank, chunk_choice_options o) {
  o.work.retained = choice.setting.retained;
  auto const all = chunk_work(choice.plan, o.work, cost);
  ballast::chunk_works mine;
  for (auto const c : choice.ranks[rank])
    for (auto const k : choice.plan.chains[c]) mine.of_chunk.push_back(all.of_chunk[k]);
  return mine;
}

TEST_CASE("choose_chunks: all settings keep the capacity, and the least time is returned", "[chunks][property]") {
  ballast::splitmix64 draw(1);
  int infeasible = 0, feasible = 0;
  for (int round = 0; round < 300; round += ballast_test::round_step) {
    auto const o = random_options(draw);
    auto const lengths = ballast_test::random_lengths(1 + draw() % 30, between(50, 1500, draw), draw);
    CAPTURE(round, o.ranks, o.stages, o.capacity, o.work.per_chunk);
    auto const choice = choose_chunks(lengths, o, cost);
    auto least = choice.time.value;
    auto found = false, bounded = false;
    for (auto const& one : choice.tried) {
      if (one.status != status::feasible) {
        REQUIRE(one.peak > o.capacity);
        ++infeasible;
        continue;
      }
      ++feasible;
      REQUIRE(one.peak <= o.capacity);
      REQUIRE(one.time.lower_bound <= one.time.value);
      REQUIRE(one.time.lower_bound >= choice.time.lower_bound);
      REQUIRE(one.time.value >= choice.time.value);
      least = (std::min)(least, one.time.value);
      found = found || (one.setting == choice.setting && one.time.value == choice.time.value);
      bounded = bounded || one.time.lower_bound == choice.time.lower_bound;
    }
    REQUIRE(found == (choice.status == status::feasible));
    REQUIRE(bounded == found);
    if (!o.settings.empty()) REQUIRE(choice.tried.size() == o.settings.size());
    if (choice.status != status::feasible) {
      REQUIRE(choice.pipelines.empty());
      continue;
    }
    REQUIRE(least == choice.time.value);
    // The plan is what was promised: each chain on one rank, and each rank's order takes the time when it is simulated.
    std::vector<int> places(choice.plan.chains.size(), 0);
    REQUIRE(choice.ranks.size() == o.ranks);
    std::int64_t slowest = 0;
    for (std::size_t r = 0; r < o.ranks; ++r) {
      for (auto const c : choice.ranks[r]) ++places[c];
      if (choice.ranks[r].empty()) continue;
      auto const timeline = simulate_order(choice.pipelines[r].order, works_of(choice, r, o));
      REQUIRE(timeline.makespan.value == choice.pipelines[r].timeline.makespan.value);
      for (auto const& stage : timeline.stages) REQUIRE(stage.peak_memory <= o.capacity);
      slowest = (std::max)(slowest, timeline.makespan.value);
    }
    REQUIRE(slowest == choice.time.value);
    REQUIRE(std::count(places.begin(), places.end(), 1) == static_cast<std::ptrdiff_t>(places.size()));
    auto const again = choose_chunks(lengths, o, cost);
    REQUIRE(again.tried == choice.tried);
    REQUIRE(again.setting == choice.setting);
    REQUIRE(again.ranks == choice.ranks);
    if (round % 10 == 0) {
      auto more = o;
      more.simulations = 40;
      REQUIRE(choose_chunks(lengths, more, cost).time.value <= choice.time.value);
    }
  }
  CHECK(infeasible > 0);
  CHECK(feasible > 300 / ballast_test::round_step);
}

TEST_CASE("choose_chunks: a stop leaves settings out, the first excepted, and progress counts them") {
  chunk_choice_options o{.stages = 2, .capacity = 100'000, .work = {.per_chunk = 10}, .simulations = 1};
  for (std::int64_t size = 64; size <= 1024; size *= 2) o.settings.push_back({.size = size, .retained = 2});
  std::vector<std::int64_t> const lengths{900, 40, 300, 77, 1500, 20};
  auto const whole = choose_chunks(lengths, o, cost);
  CHECK((whole.complete && whole.tried.size() == o.settings.size()));
  auto const source = std::make_unique<std::stop_source>();  // on the heap: g++ 12 warns of one on the stack at -Og
  ballast_test::progress_log told;
  auto const stop_after_two = [&](std::uint64_t done, std::uint64_t most) {
    told(done, most);
    if (done == 2) source->request_stop();
  };
  ballast::search_limits const limits{.stop = source->get_token(), .progress = stop_after_two};
  auto const cut = choose_chunks(lengths, o, cost, limits);
  CHECK((!cut.complete && told.sound && told.most == o.settings.size()));
  CHECK(cut.tried == std::vector(whole.tried.begin(), whole.tried.begin() + 2));
  CHECK(choose_chunks(lengths, o, cost, limits).tried.size() == 1);
  o.capacity = 1;  // no setting fits, which one that was tried does not prove of the others
  auto const none = choose_chunks(lengths, o, cost, limits);
  CHECK((none.status == status::unknown && !none.complete && none.tried.size() == 1));
}

TEST_CASE("choose_chunks: without a pipeline, at least as fast as the largest chunk that fits and K = 1", "[chunks][property]") {
  ballast::splitmix64 draw(2);
  for (int round = 0; round < 100; round += ballast_test::round_step) {
    auto o = random_options(draw);
    o.stages = 1;
    o.settings.clear();
    auto const lengths = ballast_test::random_lengths(1 + draw() % 30, between(50, 3000, draw), draw);
    auto const choice = choose_chunks(lengths, o, cost);
    auto const extent = ballast::extent_of(lengths);
    auto const largest = (std::min)(ballast::largest_chunk(extent.longest, o.capacity, o.work.per_token), extent.tokens);
    REQUIRE((largest > 0) == (choice.status == status::feasible));
    if (largest == 0) continue;
    o.settings = {{largest, 1}};
    auto const published = choose_chunks(lengths, o, cost);
    REQUIRE(published.status == status::feasible);
    REQUIRE(choice.time.value <= published.time.value);
  }
  // With one rank and nothing to recompute, they agree.
  chunk_choice_options const one{.capacity = 5000, .work = {.per_chunk = 1}};
  auto const choice = choose_chunks(lengths_t{3000, 1500, 400, 100}, one, cost);
  CHECK(choice.setting == ballast::chunk_setting{5000, 1});
  CHECK(choice.time.optimal());
}

/// 256 samples with the shares of conversations up to 1K, 4K and 8K tokens (87.12, 99.35 and 99.87 %), and one sample of 32K.
lengths_t conversations() {
  std::vector<std::pair<std::int64_t, std::int64_t>> const quantiles{{0, 32}, {87'12, 1024}, {99'35, 4096}, {100'00, 8192}};
  lengths_t lengths{32768};
  for (std::int64_t i = 0; i < 256; ++i) {
    auto const at = (2 * i + 1) * 100'00 / 512;
    std::size_t q = 1;
    while (quantiles[q].first < at) ++q;
    auto const [low, from] = quantiles[q - 1];
    auto const [high, to] = quantiles[q];
    lengths.push_back(from + (to - from) * (at - low) / (high - low));
  }
  return lengths;
}

TEST_CASE("choose_chunks: ChunkFlow's three settings have their published ranks", "[chunks]") {
  // Published (7B, 256K tokens, four stages): 29,810 ms for (2K, 16), 23,774 for (8K, 4), 28,942 for (32K, 1).
  chunk_choice_options o{.stages = 4,
                         .capacity = 50 * 128 * 1024,
                         .work = {.per_chunk = ballast::dense_4096_cost.linear * 1152, .per_token = {.activations = 50, .keys_values = 1}},
                         .settings = {{2048, 16}, {8192, 4}, {32768, 1}}};
  auto const times = [&] {
    std::vector<double> out;
    auto const choice = choose_chunks(conversations(), o, ballast::dense_4096_cost);
    for (auto const& one : choice.tried) out.push_back(static_cast<double>(one.time.value));
    return out;
  };
  auto const t = times();
  double const published[] = {29810, 23774, 28942};
  CAPTURE(t[0] / t[1], t[2] / t[1]);
  CHECK(choose_chunks(conversations(), o, ballast::dense_4096_cost).setting == ballast::chunk_setting{8192, 4});
  for (std::size_t k = 0; k < 3; ++k) {  // within 20 % after one factor
    auto const ratio = t[k] / t[1] / (published[k] / published[1]);
    CHECK(ratio > 0.8);
    CHECK(ratio < 1.2);
  }
  o.work.per_chunk = 1;  // without a fixed time, the smallest chunk seems best
  auto const artefact = times();
  CHECK(artefact[0] < artefact[1]);
  CHECK(artefact[1] < artefact[2]);
  // K x size is equal, the memory is not.
  o.capacity = 50 * 1024 * 1024;
  auto const choice = choose_chunks(conversations(), o, ballast::dense_4096_cost);
  CHECK(choice.tried[0].peak < choice.tried[1].peak);
  CHECK(2 * choice.tried[1].peak < 3 * choice.tried[2].peak);
}

TEST_CASE("choose_chunks: too little memory is an answer, misuse is refused", "[chunks]") {
  chunk_choice_options o{.capacity = 100, .work = {.per_chunk = 1, .per_token = {.activations = 1, .keys_values = 1}}};
  auto const none = choose_chunks(lengths_t{3, 100, 101}, o, cost);
  CHECK(none.status == status::infeasible);
  CHECK(none.tried.empty());
  CHECK(choose_chunks(lengths_t{3, 100}, o, cost).status == status::feasible);
  o.settings = {{10, 1}, {101, 1}};
  auto const tried = choose_chunks(lengths_t{3, 101}, o, cost);
  CHECK(tried.status == status::infeasible);
  REQUIRE(tried.tried.size() == 2);
  CHECK(tried.tried[0].peak == 110);  // keys and values of 100 tokens, and the activations of ten that run again
  CHECK(tried.tried[1].peak == 101);

  lengths_t const lengths{5};
  auto const with = [&](auto change) {
    auto bad = o;
    change(bad);
    return refusal([&] { return choose_chunks(lengths, bad, cost); });
  };
  CHECK(with([](auto& b) { b.ranks = 0; }) == "ranks = 0 must be positive");
  CHECK(with([](auto& b) { b.stages = 0; }) == "stages = 0 must be positive");
  CHECK(with([](auto& b) { b.capacity = 0; }) == "capacity = 0 must be positive");
  CHECK(with([](auto& b) { b.work.per_chunk = 0; }) == "per_chunk = 0 must be positive: without it, the smallest chunk always seems best");
  CHECK(with([](auto& b) { b.simulations = 0; }) == "simulations must be at least 1");
  CHECK(with([](auto& b) { b.settings[1].retained = 0; }) == "settings[1] = 101: size and retained must be positive");
  CHECK(with([](auto& b) { b.settings[0].size = -1; }) == "settings[0] = -1: size and retained must be positive");
  CHECK(refusal([&] { return choose_chunks(lengths_t{}, o, cost); }) == "lengths is empty: a setting is chosen for its samples");
  CHECK(refusal([&] { return choose_chunks(lengths_t{1, 0}, o, cost); }) == "lengths[1] = 0 must be positive");
}

}  // namespace test_chunks_choose_chunks
