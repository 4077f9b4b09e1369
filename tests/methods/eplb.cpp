// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance/check_replicated.hpp>
#include <ballast/core/random.hpp>
#include <ballast/methods/eplb.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_methods_eplb {

namespace {
using namespace ballast;
using ballast_test::refusal;
using rows = std::vector<std::int64_t>;
rows const layers[] = {{90, 132, 40, 61, 104, 165, 39, 4, 73, 56, 183, 86}, {20, 107, 104, 64, 19, 197, 187, 157, 172, 86, 16, 27}};
}  // namespace

TEST_CASE("eplb: the published example comes out as published", "[published]") {
  // deepseek-ai/EPLB, README: 16 replicas of 12 experts in 4 groups, 2 nodes, 8 GPUs
  std::vector<std::uint32_t> const published[] = {{5, 6, 5, 7, 8, 4, 3, 4, 10, 9, 10, 2, 0, 1, 11, 1},
                                                  {7, 10, 6, 8, 6, 11, 8, 9, 2, 4, 5, 1, 5, 0, 3, 1}};
  replication_options const options{.ranks = 8, .slots = 16, .nodes = 2, .groups = 4};
  for (std::size_t l = 0; l < 2; ++l) CHECK(eplb::place(layers[l], options) == published[l]);
}

TEST_CASE("eplb: on the published example, our plans are proven, and two of EPLB's four are best", "[published]") {
  struct figures {
    std::uint64_t groups;
    std::int64_t eplb[2], least[2];  // largest loads in halves of a row
  };
  for (auto const& [groups, of_eplb, least] : {figures{4, {312, 359}, {302, 359}}, figures{1, {277, 344}, {272, 344}}})
    for (std::size_t l = 0; l < 2; ++l) {
      CAPTURE(groups, l);
      replication_options options{.ranks = 8, .slots = 16, .nodes = 2, .groups = groups};
      auto const plan = balance_replicated(layers[l], options);
      CHECK(check_replicated(plan, layers[l], options).valid());
      CHECK(plan.load == certificate{least[l] * row_units / 2, least[l] * row_units / 2});
      options.may_share = true;  // as EPLB may, which does not help here
      CHECK(balance_replicated(layers[l], options).load == plan.load);
      if (groups == 1) options.groups = 3;  // 2 nodes do not divide 3 groups: EPLB is global
      CHECK(eplb::largest_load(eplb::place(layers[l], options), layers[l], 8) == of_eplb[l] * row_units / 2);
    }
}

TEST_CASE("eplb: every slot is filled, and balance_replicated is no worse where copies may share a rank", "[property]") {
  splitmix64 draw(31);
  auto const any = [&](std::uint64_t bound) { return uniform_below(bound, draw); };
  std::int64_t better = 0;
  for (int round = 0; round < 60; ++round) {
    replication_options o{.nodes = 1 + any(3), .may_share = true};
    o.groups = o.nodes * (1 + any(3));
    o.ranks = o.nodes * (1 + any(4));
    rows loads(std::size_t(o.groups * (2 + any(4))));
    o.slots = o.ranks * ((loads.size() + o.ranks - 1) / o.ranks + any(3));
    for (auto& w : loads) w = std::int64_t(any(4) == 0 ? any(1000) : any(100));
    CAPTURE(round, loads, o.ranks, o.slots, o.nodes, o.groups);
    auto const slots = eplb::place(loads, o);
    std::vector<std::uint64_t> copies(loads.size());
    for (auto const e : slots) ++copies.at(e);
    CHECK(slots.size() == o.slots);
    CHECK(std::count(copies.begin(), copies.end(), 0U) == 0);
    for (std::size_t g = 0; g < o.groups; ++g) {  // on one node
      std::vector<std::size_t> nodes;
      for (std::size_t i = 0; i < slots.size(); ++i)
        if (slots[i] * o.groups / loads.size() == g) nodes.push_back(i * o.nodes / slots.size());
      CHECK(nodes.front() == nodes.back());
    }
    auto const plan = balance_replicated(loads, o);
    CHECK(check_replicated(plan, loads, o).valid());
    auto const theirs = eplb::largest_load(slots, loads, o.ranks);
    CHECK(plan.load.value <= theirs);
    better += plan.load.value < theirs ? 1 : 0;
    if (o.nodes == 1) CHECK(eplb::largest_load(plan.expert_of, loads, o.ranks) == plan.load.value);
  }
  CHECK(better > 15);
}

TEST_CASE("eplb: of equal experts and ranks, the first is taken") {
  CHECK(eplb::place(rows{5, 5, 5}, {.ranks = 4, .slots = 4}) == std::vector<std::uint32_t>{0, 1, 2, 0});
  CHECK(eplb::place(rows{5, 5, 5, 5}, {.ranks = 2}) == std::vector<std::uint32_t>{0, 2, 1, 3});
}

TEST_CASE("eplb: arguments out of range throw") {
  CHECK(refusal([] { return eplb::place(rows{1, 2}, {.ranks = 2, .slots = 3}).size(); }) == "ranks = 2 must divide slots = 3");
  CHECK(refusal([] { return eplb::place(rows{1, -2}, {.ranks = 2}).size(); }) ==
        "loads[1] = -2 is negative, or brings the sum of loads to 2^42 or more");
  std::vector<std::uint32_t> const slots{0, 2};
  CHECK(refusal([&] { return eplb::largest_load(slots, rows{1, 2}, 2); }) == "expert_of[1] = 2 must be below 2");
  CHECK(refusal([&] { return eplb::largest_load(slots, rows{1, 2, 3}, 3); }) == "ranks = 3 must divide slots = 2");
}

}  // namespace test_methods_eplb
