// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/sequence_parallel.hpp>
#include <ballast/methods/hbp_profile.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace test_methods_hbp_profile {

namespace hbp = ballast::hbp;
using levels_t = std::vector<ballast::level>;
using measured = std::optional<std::int64_t>;

namespace {

// Table 19: the best strategy of each length on the paper's data, milliseconds of iterations of equal tokens.
std::vector<hbp::profiled_level> const table_19{
    {{8192, 2, 8}, 2690}, {{16384, 1, 28}, 2650}, {{32768, 8, 8}, 2830}, {{65536, 4, 28}, 3010}, {{131072, 8, 28}, 3050}};

auto linear(std::int64_t at_least, std::int64_t at_most) {  // memory left at 20 and at 32 layers
  return [=](std::uint32_t c) -> std::optional<std::int64_t> { return at_least + (at_most - at_least) * (std::int64_t{c} - 20) / 12; };
}

}  // namespace

TEST_CASE("hbp: the fewest recomputed layers of the paper's example", "[methods][published]") {
  auto const found = hbp::greedy_profile_checkpointing(linear(6, 30), 20, 32);
  CHECK(found.status == ballast::status::feasible);
  CHECK(found.layers == 17);  // each layer saves 2, 30 are left: 32 - 15
}

TEST_CASE("hbp: recomputed layers where the paper says nothing", "[methods]") {
  using ballast::status;
  auto const found = [](auto const& probe, std::int64_t head_room = 0) {
    return hbp::greedy_profile_checkpointing(probe, 20, 32, head_room);
  };
  CHECK(found(linear(6, 30), 1).layers == 18);  // 14.5 layers' worth is free
  CHECK(found(linear(6, 30), 2).layers == 18);  // 14 exactly
  CHECK(found(linear(5, 29), 0).layers == 18);  // 14.5, rounded down
  CHECK(found(linear(100, 112)).layers == 0);   // all fits without
  CHECK(found(linear(20, 32)).layers == 0);     // exactly
  CHECK(found(linear(19, 31)).layers == 1);
  CHECK(found(linear(-24, 0)).layers == 32);  // nothing to spare
  CHECK(found(linear(6, 30), 31).status == status::infeasible);
  CHECK(found(linear(-30, -6)).status == status::infeasible);
  CHECK(found([](std::uint32_t) { return std::optional<std::int64_t>(7); }).layers == 20);         // no layer saves anything
  CHECK(found([](std::uint32_t c) { return std::optional<std::int64_t>(32 - c); }).layers == 20);  // nor costs
  std::vector<std::uint32_t> probed;
  auto const runs_out = [&](std::uint32_t c) -> std::optional<std::int64_t> {
    probed.push_back(c);
    if (c < 28) return std::nullopt;
    return 2 * (c - 27);
  };
  CHECK(found(runs_out).layers == 27);
  CHECK(probed == std::vector<std::uint32_t>{32, 20, 26, 29});
  CHECK(found([](std::uint32_t c) { return c < 32 ? std::nullopt : std::optional<std::int64_t>(1); }).layers == 32);
  CHECK(found([](std::uint32_t) { return std::optional<std::int64_t>(); }).status == status::infeasible);
  CHECK(hbp::greedy_profile_checkpointing(linear(6, 30), 32, 32).layers == 32);
  CHECK(ballast_test::refusal([] { (void)hbp::greedy_profile_checkpointing(linear(6, 30), 33, 32); }) == "least = 33 exceeds most = 32");
  CHECK(ballast_test::refusal([] { (void)hbp::greedy_profile_checkpointing(linear(6, 30), 20, 32, -1); }) ==
        "head_room = -1 must not be negative");
}

TEST_CASE("hbp: the published levels", "[methods][published]") {
  CHECK(hbp::select_levels(table_19) == levels_t{{16384, 1, 28}, {131072, 8, 28}});
  std::vector<hbp::profiled_level> const of_the_readme{{{32768, 2, 28}, 10}, {{131072, 8, 29}, 12}};
  CHECK(hbp::select_levels(of_the_readme) == levels_t{{16384, 1, 28}, {32768, 2, 28}, {131072, 8, 29}});
}

TEST_CASE("hbp: the second stage merges, keeps and drops slices", "[methods]") {
  CHECK(hbp::select_levels(std::vector<hbp::profiled_level>{{{4096, 1, 0}, 1}}) == levels_t{{4096, 1, 0}});
  CHECK(hbp::select_levels(std::vector<hbp::profiled_level>{{{4096, 4, 7}, 1}}) == levels_t{{1024, 1, 7}, {4096, 4, 7}});
  // The slice of the longest is above the best length: a level of its own.
  CHECK(hbp::select_levels(std::vector<hbp::profiled_level>{{{1024, 2, 0}, 1}, {{8192, 4, 9}, 2}}) ==
        levels_t{{512, 1, 0}, {1024, 2, 0}, {2048, 1, 9}, {8192, 4, 9}});
  // Below it: merged into the best length's range.
  CHECK(hbp::select_levels(std::vector<hbp::profiled_level>{{{4096, 2, 0}, 1}, {{8192, 8, 9}, 2}}) ==
        levels_t{{2048, 1, 0}, {4096, 2, 0}, {8192, 8, 9}});
  // Time per token, not per iteration, decides; of a length the faster strategy stays.
  CHECK(hbp::select_levels(std::vector<hbp::profiled_level>{{{1024, 1, 0}, 10, 1024}, {{2048, 1, 0}, 19, 2048}}) == levels_t{{2048, 1, 0}});
  CHECK(hbp::select_levels(std::vector<hbp::profiled_level>{{{1024, 1, 0}, 9}, {{2048, 1, 1}, 11}, {{2048, 1, 2}, 10}}) ==
        levels_t{{1024, 1, 0}, {2048, 1, 2}});
  CHECK(ballast_test::refusal([] { (void)hbp::select_levels({}); }) == "profile is empty: no strategy fits in memory");
  CHECK(ballast_test::refusal([] { (void)hbp::select_levels(std::vector<hbp::profiled_level>{{{8, 1, 0}, 0}}); }) ==
        "profile[0] has time 0, 1 token, capacity 8 and sp = 1: all must be positive");
}

TEST_CASE("hbp: the best setting of 32K tokens in table 18", "[methods][published]") {
  struct row {
    std::uint32_t sp, layers;
    std::int64_t time;  // 0: memory runs out
  };
  static constexpr std::array<row, 5> table{{{1, 33, 0}, {2, 28, 3010}, {4, 23, 2950}, {8, 8, 2820}, {16, 0, 3600}}};
  auto const row_of = [](std::uint32_t sp) { return *std::find_if(table.begin(), table.end(), [&](row const& r) { return r.sp == sp; }); };
  std::vector<std::uint32_t> timed;
  int probes = 0;
  auto const remaining = [&](std::uint32_t sp, std::uint32_t layers) -> measured {
    ++probes;
    auto const left = std::int64_t{layers} - row_of(sp).layers;
    return left < 0 ? std::nullopt : measured(left);
  };
  auto const time = [&](std::uint32_t sp, std::uint32_t layers) -> measured {
    timed.push_back(sp);
    CHECK(layers == row_of(sp).layers);
    return row_of(sp).time;
  };
  auto const found =
      hbp::find_best_setting(32768, std::vector<std::uint32_t>{1, 2, 4, 8, 16}, remaining, time, {.least = 20, .most = 32, .tokens = 7});
  REQUIRE(found);
  CHECK(found->setting == ballast::level{32768, 8, 8});
  CHECK(found->time == 2820);
  CHECK(found->tokens == 7);
  CHECK(timed == std::vector<std::uint32_t>{2, 4, 8, 16});  // one timing for each degree that fits
  CHECK(probes == 1 + 4 + 3 + 2 + 2);                       // 32, 20, 26, 29 layers at SP 2; 32, 20, 26 at SP 4
}

TEST_CASE("hbp: find_best_setting is as good as trying every degree and every number of layers", "[methods]") {
  ballast::splitmix64 draw(3);
  int infeasible = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint32_t> degrees{1, 2, 4, 8};
    auto const most = static_cast<std::uint32_t>(ballast_test::between(1, 40, draw));
    auto const least = static_cast<std::uint32_t>(ballast_test::between(0, most, draw));
    auto const head_room = ballast_test::between(0, 3, draw);
    std::array<std::int64_t, 9> free{}, saved{}, exchange{};  // by degree
    for (auto const sp : degrees) {
      free[sp] = ballast_test::between(-300, 150, draw);
      saved[sp] = ballast_test::between(1, 12, draw);
      exchange[sp] = ballast_test::between(1, 60, draw);
    }
    auto const left = [&](std::uint32_t sp, std::uint32_t layers) { return free[sp] - saved[sp] * (std::int64_t{most} - layers); };
    auto const takes = [&](std::uint32_t sp, std::uint32_t layers) { return 3 * std::int64_t{most} + layers + exchange[sp]; };
    std::size_t probes = 0, timings = 0;
    auto const found = hbp::find_best_setting(
        4096, degrees,
        [&](std::uint32_t sp, std::uint32_t layers) {
          ++probes;
          return left(sp, layers) < 0 ? std::nullopt : measured(left(sp, layers));
        },
        [&](std::uint32_t sp, std::uint32_t layers) {
          ++timings;
          return takes(sp, layers);
        },
        {.least = least, .most = most, .head_room = head_room});
    std::optional<hbp::profiled_level> best;
    std::size_t fitting = 0;
    for (auto const sp : degrees) {
      fitting += left(sp, most) >= head_room ? 1U : 0U;
      for (std::uint32_t layers = 0; layers <= most; ++layers)
        if (left(sp, layers) >= head_room && (!best || takes(sp, layers) < best->time))
          best = hbp::profiled_level{{4096, sp, layers}, takes(sp, layers)};
    }
    CAPTURE(round, most, least, head_room);
    REQUIRE(found.has_value() == best.has_value());
    if (best && least < most) {  // two equal probes say nothing of the layers below
      CHECK(found->setting == best->setting);
      CHECK(found->time == best->time);
    }
    CHECK(timings == fitting);
    CHECK(probes <= degrees.size() * 8);  // 2 + log2(40)
    infeasible += best ? 0 : 1;
  }
  CHECK(infeasible > 0);
}

TEST_CASE("hbp: find_best_setting on the memory and time model finds what the scan of all layers finds", "[methods]") {
  ballast::sequence_parallel_setup const run{.model = ballast::transformer_preset("llama-3.1-8b")};
  std::vector<std::uint32_t> const degrees{1, 2, 4, 8};
  constexpr std::int64_t tokens = 512 * 1024;
  auto const iteration = [&](ballast::level const& at) {
    return ballast::modelled_level_time(run, at)(static_cast<std::uint64_t>(tokens / at.capacity), tokens, tokens * 1750);
  };
  std::set<std::pair<std::int64_t, std::uint32_t>> probed;  // memory depends on the tokens of a device only
  std::vector<hbp::profiled_level> profile;
  for (std::int64_t const length : {16384, 32768, 131072}) {
    auto const found = hbp::find_best_setting(
        length, degrees,
        [&](std::uint32_t sp, std::uint32_t layers) -> measured {
          probed.insert({length / sp, layers});
          auto const left = ballast::remaining_memory(run, {length, sp, layers});
          return left < 0 ? std::nullopt : measured(left);
        },
        [&](std::uint32_t sp, std::uint32_t layers) { return iteration({length, sp, layers}); },
        {.least = 20, .most = 32, .tokens = tokens});
    REQUIRE(found);
    std::optional<hbp::profiled_level> best;
    for (auto const& [at, time] : ballast::modelled_levels(run, std::span(&length, 1), degrees))
      if (at.capacity == length && (!best || iteration(at) < best->time)) best = hbp::profiled_level{at, iteration(at)};
    REQUIRE(best);
    CHECK(found->setting == best->setting);
    CHECK(found->time == best->time);
    profile.push_back(*found);
  }
  CHECK(probed.size() < 2 * 3 * degrees.size());  // shared between lengths
  auto const levels = hbp::select_levels(profile);
  CHECK(levels.front().sp == 1);
  CHECK(levels.back().capacity == 131072);
  CHECK(levels.back().sp == 8);
}

TEST_CASE("hbp: find_best_setting where the paper says nothing", "[methods]") {
  std::vector<std::uint32_t> const two{1, 2};
  hbp::profiling_options const options{.least = 20, .most = 32};
  auto const remaining = [](std::uint32_t, std::uint32_t c) -> measured { return 2 * (std::int64_t{c} - 10); };
  std::vector<std::uint32_t> timed;
  auto const runs_out = [&](std::uint32_t sp, std::uint32_t c) -> measured {  // two layers later than estimated, and never at SP 2
    timed.push_back(c);
    return sp == 2 || c < 12 ? std::nullopt : measured(5);
  };
  auto const found = hbp::find_best_setting(64, two, remaining, runs_out, options);
  REQUIRE(found);
  CHECK(found->setting == ballast::level{64, 1, 12});
  CHECK(timed.size() == 3 + 23);  // 10 to 12; 10 to 32
  auto const equal = [](std::uint32_t, std::uint32_t) -> measured { return 5; };
  CHECK(hbp::find_best_setting(64, std::vector<std::uint32_t>{4, 2}, remaining, equal, options)->setting.sp == 4);
  CHECK_FALSE(hbp::find_best_setting(64, std::vector<std::uint32_t>{}, remaining, equal, options));
  auto const refused = [&](std::int64_t length, std::uint32_t sp, std::int64_t takes) {
    return ballast_test::refusal([&] {
      (void)hbp::find_best_setting(
          length, std::vector<std::uint32_t>{sp}, remaining, [&](std::uint32_t, std::uint32_t) { return takes; }, options);
    });
  };
  CHECK(refused(0, 1, 1) == "length = 0 must be positive");
  CHECK(refused(1, 0, 1) == "degrees[0] = 0 must be positive");
  CHECK(refused(1, 1, 0) == "the time at sp = 1 is 0: it must be positive");
}

}  // namespace test_methods_hbp_profile
