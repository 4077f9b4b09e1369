// SPDX-License-Identifier: Apache-2.0
#include <ballast/levels/figures.hpp>
#include <ballast/methods/hbp.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace test_methods_hbp {

namespace hbp = ballast::hbp;
using levels_t = std::vector<ballast::level>;

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

TEST_CASE("hbp: what profiling costs", "[methods][published]") { CHECK(hbp::profiling_cost(3, 3, 3) == hbp::profiling{45, 15}); }

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
        "profile[0] has time 0, 1 tokens, capacity 8 and sp = 1: all must be positive");
}

TEST_CASE("hbp: a run trains every sample once, short level first", "[methods]") {
  ballast::splitmix64 draw(1);
  std::vector<std::int64_t> lengths(20000);
  for (auto& l : lengths) {
    auto const is_long = draw() % 200 == 0;
    l = is_long ? ballast_test::between(2049, 16384, draw) : ballast_test::between(16, 900, draw);
  }
  levels_t const levels{{2048, 1, 0}, {16384, 8, 0}};
  auto const plan = hbp::plan_training(lengths, levels, {.devices = 16, .warm_up = 50});
  std::vector<int> stands(lengths.size(), 0);
  std::size_t short_ones = 0;
  for (std::size_t k = 0; k < plan.order.size(); ++k) {
    auto const step = plan.order.at(k);
    auto const& steps = plan.steps.steps[step.source];
    if (k < 50) CHECK(step.setting == levels[0]);
    short_ones += step.setting == levels[0] ? 1U : 0U;
    for (auto const pack : steps.packs_of(step.index))
      for (auto m : pack) ++stands[m];
  }
  CHECK(std::count(stands.begin(), stands.end(), 1) == static_cast<std::ptrdiff_t>(stands.size()));
  CHECK(plan.order.size() == plan.steps.size());
  CHECK(short_ones > 50);
  CHECK(short_ones < plan.order.size());
  std::vector<ballast::level_time> const times{{0, 1000, 1}, {0, 1000, 1}};
  auto const figures = ballast::figures_of(plan.steps, plan.packed.lengths, times);
  auto const random = hbp::plan_training(lengths, levels, {.devices = 16, .balanced = false, .warm_up = 50});
  CHECK(figures.attention_ratio < 0.03);
  CHECK(figures.attention_ratio < 0.1 * ballast::figures_of(random.steps, random.packed.lengths, times).attention_ratio);
  CHECK(hbp::plan_training(lengths, levels, {.devices = 16, .warm_up = 50}).order == plan.order);
}

}  // namespace test_methods_hbp
