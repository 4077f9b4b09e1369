// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/moe.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/transformer.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace test_cost_moe {

namespace {

using namespace ballast;
using ballast_test::refusal;

/// Loads of a uniform router: each token goes to `active` distinct experts.
std::vector<std::int64_t> uniform_loads(std::int64_t tokens, expert_routing const& by, splitmix64& draw) {
  std::vector<std::int64_t> loads(static_cast<std::size_t>(by.experts));
  std::vector<std::size_t> expert(loads.size());
  std::iota(expert.begin(), expert.end(), std::size_t{0});
  for (std::int64_t t = 0; t < tokens; ++t)
    for (std::size_t i = 0; i < static_cast<std::size_t>(by.active); ++i) {
      std::swap(expert[i], expert[i + static_cast<std::size_t>(uniform_below(expert.size() - i, draw))]);
      ++loads[expert[i]];
    }
  return loads;
}

/// The mean number of drops over all outcomes of a uniform router, by trying each.
double mean_drops(std::int64_t tokens, expert_routing const& by) {
  std::vector<std::vector<std::size_t>> choices;
  for (unsigned mask = 0; mask < 1U << by.experts; ++mask) {
    std::vector<std::size_t> some;
    for (std::size_t i = 0; i < static_cast<std::size_t>(by.experts); ++i)
      if (mask >> i & 1U) some.push_back(i);
    if (some.size() == static_cast<std::size_t>(by.active)) choices.push_back(some);
  }
  auto const capacity = expert_capacity(tokens, by);
  std::int64_t dropped = 0, outcomes = 1;
  for (std::int64_t t = 0; t < tokens; ++t) outcomes *= static_cast<std::int64_t>(choices.size());
  for (std::int64_t o = 0; o < outcomes; ++o) {
    std::vector<std::int64_t> loads(static_cast<std::size_t>(by.experts));
    auto rest = static_cast<std::size_t>(o);
    for (std::int64_t t = 0; t < tokens; ++t, rest /= choices.size())
      for (auto e : choices[rest % choices.size()]) ++loads[e];
    for (auto load : loads) dropped += (std::max)(std::int64_t{0}, load - capacity);
  }
  return static_cast<double>(dropped) / static_cast<double>(outcomes);
}

}  // namespace

TEST_CASE("moe: capacity is the least number of rows that holds its share", "[property]") {
  splitmix64 draw(1);
  auto const any = [&](std::uint64_t bound) { return static_cast<std::int64_t>(uniform_below(bound, draw)); };
  for (int i = 0; i < 2000; ++i) {
    expert_routing by{.experts = 1 + any(300)};
    by.active = 1 + any(static_cast<std::uint64_t>(by.experts));
    by.capacity = any(3) * any(2500);
    auto const tokens = any(100'000), capacity = expert_capacity(tokens, by), rows = expert_rows(tokens, by);
    CAPTURE(by.experts, by.active, by.capacity, tokens);
    if (by.capacity == 0) {
      CHECK(capacity == tokens);
      CHECK(rows == tokens * by.active);
    } else {
      CHECK(capacity * by.experts * 1000 >= tokens * by.active * by.capacity);
      CHECK((capacity == 0 || (capacity - 1) * by.experts * 1000 < tokens * by.active * by.capacity));
      CHECK(rows == by.experts * capacity);
    }
  }
  CHECK(expert_capacity(1024, {.experts = 32, .active = 2, .capacity = 1250}) == 80);
  CHECK(expert_capacity(std::int64_t{1} << 40, {.experts = 1, .active = 1, .capacity = 1'000'000}) == 1000 * (std::int64_t{1} << 40));
}

TEST_CASE("moe: k prototypes of one expert each cost what k experts cost", "[property]") {
  for (std::int64_t const k : {1, 2, 4, 8})
    for (std::int64_t const experts : {8, 64, 512})
      for (std::int64_t const gamma : {500, 1000, 1250, 2001})
        for (std::int64_t const tokens : {0, 1, 1023, 4096}) {
          expert_routing const top_k{.experts = experts, .active = k, .capacity = gamma};
          expert_routing const prototype{.experts = experts / k, .active = 1, .capacity = gamma};
          CHECK(expert_capacity(tokens, prototype) == expert_capacity(tokens, top_k));
          CHECK(k * expert_rows(tokens, prototype) == expert_rows(tokens, top_k));
        }
  auto m = transformer_preset("deepseek-v3");
  auto const router = router_flops_per_token(m);
  m.experts /= 8;
  CHECK(8 * router_flops_per_token(m) == router);
}

TEST_CASE("moe: router, routed and shared experts make up the FLOPs of a layer") {
  for (auto const* name : {"deepseek-v2", "deepseek-v3"}) {
    auto const& m = transformer_preset(name);
    auto attention_only = m;
    attention_only.expert_layers = {};
    attention_only.ffn = 0;
    auto const shared = 2 * 3 * m.hidden * m.shared_ffn;
    CHECK(layer_flops(m, m.layers - 1).per_token ==
          layer_flops(attention_only, 0).per_token + router_flops_per_token(m) + m.active_experts * expert_flops_per_row(m) + shared);
  }
  CHECK(router_flops_per_token(transformer_preset("deepseek-v3")) == 2 * 7168 * 256);
  CHECK(expert_flops_per_row(transformer_preset("deepseek-v3")) == 2 * 3 * 7168 * 2048);
  CHECK(router_flops_per_token(transformer_preset("llama-3.1-8b")) == 0);
}

TEST_CASE("moe: rows are kept or dropped, none beyond the capacity", "[property]") {
  splitmix64 draw(2);
  auto const any = [&](std::uint64_t bound) { return static_cast<std::int64_t>(uniform_below(bound, draw)); };
  for (int i = 0; i < 1000; ++i) {
    expert_routing by{.experts = 1 + any(40)};
    by.active = 1 + any(static_cast<std::uint64_t>(by.experts));
    by.capacity = any(2000);
    auto const tokens = any(200), capacity = expert_capacity(tokens, by);
    auto loads = uniform_loads(tokens, by, draw);
    auto const rows = count_routed_rows(loads, capacity);
    std::int64_t dropped = 0, largest = 0;
    double mean = 0, square = 0;
    for (auto const load : loads) {
      for (auto r = load; r > capacity; --r) ++dropped;  // one by one
      largest = (std::max)(largest, (std::min)(load, capacity));
      mean += static_cast<double>(load) / static_cast<double>(by.experts);
    }
    for (auto const load : loads) square += (static_cast<double>(load) - mean) * (static_cast<double>(load) - mean);
    CHECK(rows.dropped == dropped);
    CHECK(rows.kept + rows.dropped == tokens * by.active);
    CHECK(rows.largest == largest);
    CHECK(rows.kept <= expert_rows(tokens, by));
    if (by.capacity == 0) CHECK(rows.dropped == 0);
    auto const variation = tokens == 0 ? 0.0 : 1000 * std::sqrt(square / static_cast<double>(by.experts)) / mean;
    CHECK((static_cast<double>(rows.imbalance) <= variation + 1e-6 && variation < static_cast<double>(rows.imbalance) + 1 + 1e-6));

    // full capacity computes what loads all equal to the capacity would need
    std::fill(loads.begin(), loads.end(), capacity);
    auto const full = count_routed_rows(loads, capacity);
    if (by.capacity > 0) CHECK(full == routed_rows{.kept = expert_rows(tokens, by), .largest = capacity});
    CHECK(full.imbalance == 0);
  }
  std::vector<std::int64_t> const one{0, 0, 0, 12};  // all rows at one of four experts: the root of 3
  CHECK(count_routed_rows(one, 3) == routed_rows{.kept = 3, .dropped = 9, .largest = 3, .imbalance = 1732});
  CHECK(count_routed_rows(std::vector<std::int64_t>{0, 2}, 3).imbalance == 1000);
  CHECK(count_routed_rows(std::vector<std::int64_t>{}, 3) == routed_rows{});
  std::vector<std::int64_t> huge(std::size_t{1} << 20);
  huge.back() = (std::int64_t{1} << 31) - 1;
  CHECK(count_routed_rows(huge, 0).imbalance == 1'023'999);  // 1000 times the root of 2^20 - 1
}

TEST_CASE("moe: the slowest rank decides", "[property]") {
  splitmix64 draw(3);
  auto const any = [&](std::uint64_t bound) { return static_cast<std::int64_t>(uniform_below(bound, draw)); };
  for (int i = 0; i < 500; ++i) {
    auto const ranks = 1 + any(8), each = any(6);
    std::vector<std::int64_t> loads(static_cast<std::size_t>(ranks * each));
    std::vector<std::uint32_t> blocks, anywhere;
    for (std::size_t e = 0; e < loads.size(); ++e) {
      loads[e] = any(1000);
      blocks.push_back(static_cast<std::uint32_t>(e) / static_cast<std::uint32_t>(each));
      anywhere.push_back(static_cast<std::uint32_t>(any(static_cast<std::uint64_t>(ranks))));
    }
    CHECK(rows_of_ranks(loads, ranks) == rows_of_ranks(loads, blocks, ranks));
    auto const placed = rows_of_ranks(loads, anywhere, ranks);
    std::int64_t largest = 0, sum = 0;
    for (std::int64_t r = 0; r < ranks; ++r) {
      std::int64_t rows = 0;
      for (std::size_t e = 0; e < loads.size(); ++e) rows += anywhere[e] == r ? loads[e] : 0;
      CHECK(placed.rows[static_cast<std::size_t>(r)] == rows);
      largest = (std::max)(largest, rows);
      sum += rows;
    }
    CHECK(placed.makespan == largest);
    CHECK(sum == std::accumulate(loads.begin(), loads.end(), std::int64_t{0}));
  }
  std::vector<std::int64_t> const loads{5, 1, 2, 2, 9, 0};
  CHECK(rows_of_ranks(loads, 3) == rank_rows{.rows = {6, 4, 9}, .makespan = 9});
}

TEST_CASE("moe: expected drops of a uniform router stay below the bound, over all outcomes", "[property]") {
  for (std::int64_t experts = 1; experts <= 4; ++experts)
    for (std::int64_t active = 1; active <= experts; ++active)
      for (std::int64_t tokens = 0; tokens <= 6; ++tokens)
        for (std::int64_t const capacity : {1, 300, 500, 1000, 1250, 2000}) {
          expert_routing const by{.experts = experts, .active = active, .capacity = capacity};
          CAPTURE(experts, active, tokens, capacity);
          auto const mean = mean_drops(tokens, by);
          auto const bound = static_cast<double>(most_expected_drops(tokens, by));
          CHECK(mean <= bound + 1e-9);
          // the bound, in doubles and without rounding, is less than two rows below
          auto const c = static_cast<double>(expert_capacity(tokens, by)), n = static_cast<double>(experts);
          auto const k = static_cast<double>(active), t = static_cast<double>(tokens), spare = n * c - k * t;
          auto const exact = c >= t ? 0 : (std::sqrt(t * k * (n - k) + spare * spare) - spare) / 2;
          CHECK((exact <= bound + 1e-9 && bound < exact + 2));
          if (active == experts) CHECK(mean == bound);  // every expert sees every token: no chance, and no slack
        }
}

TEST_CASE("moe: expected drops of a uniform router stay below the bound, in draws") {
  struct setting {
    expert_routing by;
    std::int64_t tokens;
    double least, most;  // of the mean over the bound
  };
  setting const settings[] = {{{.experts = 64, .active = 2, .capacity = 1000}, 4096, 0.75, 0.85},
                              {{.experts = 64, .active = 2, .capacity = 1100}, 4096, 0.2, 1},
                              {{.experts = 16, .active = 4, .capacity = 1000}, 1024, 0.75, 0.85},
                              {{.experts = 16, .active = 1, .capacity = 900}, 1024, 0.8, 1},
                              {{.experts = 256, .active = 8, .capacity = 1000}, 2048, 0.75, 0.85}};
  splitmix64 draw(4);
  for (auto const& [by, tokens, least, most] : settings) {
    CAPTURE(by.experts, by.active, by.capacity, tokens);
    constexpr int draws = 100;
    std::int64_t dropped = 0;
    for (int i = 0; i < draws; ++i) dropped += count_routed_rows(uniform_loads(tokens, by, draw), expert_capacity(tokens, by)).dropped;
    auto const share = static_cast<double>(dropped) / draws / static_cast<double>(most_expected_drops(tokens, by));
    CHECK((least < share && share < most));
  }
  CHECK(most_expected_drops(4096, {.experts = 64, .active = 2}) == 0);                 // dropless
  CHECK(most_expected_drops(10, {.experts = 4, .active = 2, .capacity = 2000}) == 0);  // room for all
}

TEST_CASE("moe: arguments out of range throw") {
  expert_routing const by{.experts = 4, .active = 2, .capacity = 1000};
  CHECK(refusal([] { return expert_capacity(1, {.experts = 0}); }) == "experts = 0 must be in [1, 2048]");
  CHECK(refusal([] { return expert_rows(1, {.experts = 4, .active = 5}); }) == "active = 5 must be in [1, 4]");
  CHECK(refusal([] { return expert_rows(1, {.capacity = -1}); }) == "capacity = -1 must be in [0, 1000000]");
  CHECK(refusal([&] { return expert_rows(-1, by); }) == "tokens = -1 must be in [0, 1099511627776]");
  CHECK(refusal([&] { return most_expected_drops(std::int64_t{1} << 30, by); }) ==
        "tokens = 1073741824 bring the rows of a layer to 2^31 or more");
  std::vector<std::int64_t> const loads{1, 2, 3}, negative{1, -2}, full{1, (std::int64_t{1} << 31) - 1};
  std::vector<std::uint32_t> const two{0, 1}, far{0, 1, 2};
  CHECK(refusal([&] { return count_routed_rows(loads, -1).kept; }) == "capacity = -1 must not be negative");
  CHECK(refusal([&] { return count_routed_rows(negative, 1).kept; }) ==
        "loads[1] = -2 is negative, or brings the sum of loads to 2^31 or more");
  CHECK(refusal([&] { return count_routed_rows(full, 1).kept; }) ==
        "loads[1] = 2147483647 is negative, or brings the sum of loads to 2^31 or more");
  CHECK(refusal([&] { return rows_of_ranks(loads, 2).makespan; }) == "ranks = 2 must divide experts = 3");
  CHECK(refusal([&] { return rows_of_ranks(loads, 0).makespan; }) == "ranks = 0 must be in [1, 16777216]");
  CHECK(refusal([&] { return rows_of_ranks(loads, two, 2).makespan; }) == "rank_of has 2 entries for 3 loads");
  CHECK(refusal([&] { return rows_of_ranks(loads, far, 2).makespan; }) == "rank_of[2] = 2 must be below 2");
  CHECK(refusal([&] { return rows_of_ranks(negative, two, 2).makespan; }) == "loads[1] = -2 must not be negative");
}

}  // namespace test_cost_moe
