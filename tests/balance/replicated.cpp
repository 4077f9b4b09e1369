// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance/check_replicated.hpp>
#include <ballast/balance/replicated.hpp>
#include <ballast/core/random.hpp>

#include "replicated_plan.hpp"
#include "support/catch.hpp"
#include "support/progress_log.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <stop_token>
#include <string>
#include <vector>

namespace test_balance_replicated {

namespace {

using namespace ballast;
using ballast_test::plan_of;
using ballast_test::refusal;
using rows = std::vector<std::int64_t>;

std::size_t slots_of(rows const& loads, replication_options const& o) { return o.slots == 0 ? loads.size() : std::size_t(o.slots); }

struct optimum {
  std::int64_t load = (std::numeric_limits<std::int64_t>::max)(), between = load;  // each by itself
  std::int64_t between_at_load = load;                                             // of the plans of least load
};

/// Over all that slots can hold: all orders, if each expert has one.
optimum best_of_all(rows const& loads, replication_options const& o) {
  optimum out;
  std::vector<std::uint32_t> slots(slots_of(loads, o));
  auto const orders = slots.size() == loads.size();
  if (orders) std::iota(slots.begin(), slots.end(), 0U);
  for (;;) {
    auto const plan = plan_of(slots, loads, o);
    auto const verdict = check_replicated(plan, loads, o);
    if (verdict.valid()) {
      if (plan.load.value < out.load) out.between_at_load = plan.between.value;
      out.load = (std::min)(out.load, plan.load.value);
      out.between = (std::min)(out.between, plan.between.value);
      if (plan.load.value == out.load) out.between_at_load = (std::min)(out.between_at_load, plan.between.value);
    }
    if (orders) {
      if (!std::next_permutation(slots.begin(), slots.end())) return out;
      continue;
    }
    std::size_t i = 0;
    while (i < slots.size() && ++slots[i] == loads.size()) slots[i++] = 0;
    if (i == slots.size()) return out;
  }
}

}  // namespace

TEST_CASE("replicated: small instances are solved and proven, as over all placements", "[property]") {
  replication_options const all[] = {{.ranks = 2, .slots = 6},
                                     {.ranks = 3, .slots = 6},
                                     {.ranks = 6, .slots = 6},
                                     {.ranks = 2, .slots = 6, .may_share = true},
                                     {.ranks = 3, .slots = 6, .may_share = true},
                                     {.ranks = 4, .slots = 8, .nodes = 2, .groups = 2},
                                     {.ranks = 2, .slots = 4, .nodes = 2, .groups = 4},
                                     {.ranks = 4, .nodes = 2, .groups = 4},
                                     {.ranks = 4, .slots = 4, .nodes = 2},
                                     {.ranks = 4, .slots = 8, .nodes = 2},
                                     {.ranks = 2, .slots = 8, .nodes = 2, .may_share = true}};
  splitmix64 draw(21);
  std::int64_t met = 0, cases = 0;
  for (auto const& options : all)
    for (int round = 0; round < 6; round += ballast_test::round_step) {
      rows loads(options.slots == 0 ? 8 : options.slots == 6 ? 3 + std::size_t(uniform_below(2, draw)) : 4);
      for (auto& w : loads) w = std::int64_t(uniform_below(round % 2 == 0 ? 40 : 4, draw) * uniform_below(5, draw));
      CAPTURE(loads, options.ranks, options.slots, options.nodes, options.groups, options.may_share);
      auto const plan = balance_replicated(loads, options);
      auto const least = best_of_all(loads, options);
      CHECK(describe(check_replicated(plan, loads, options)) == "valid");
      CHECK(plan.load.value == least.load);
      CHECK(plan.load.optimal());
      CHECK(plan.between.lower_bound <= least.between);
      CHECK(plan.between.value >= least.between_at_load - 8);  // 8: rounding down
      if (options.nodes > 1) {
        ++cases;
        met += plan.between.value <= least.between_at_load + 8 ? 1 : 0;
      }
      CHECK(plan == balance_replicated(loads, options));
    }
  CHECK(met * 10 >= cases * 6);  // exchanges lower the rows between nodes, and do not prove them least
}

TEST_CASE("replicated: every plan is valid, and its bounds hold", "[property]") {
  splitmix64 draw(22);
  auto const any = [&](std::uint64_t bound) { return uniform_below(bound, draw); };
  for (int round = 0; round < 300; round += ballast_test::round_step) {
    replication_options o{.nodes = 1 + any(4)};
    o.groups = any(2) == 0 ? 1 : o.nodes * (1 + any(3));
    o.ranks = o.nodes * (1 + any(4));
    rows loads(std::size_t(o.groups * (1 + any(6)) * (o.groups == 1 ? 5 : 1)));
    auto const here = o.groups > 1 ? loads.size() / o.nodes : loads.size();
    auto const least = (loads.size() + o.ranks - 1) / o.ranks;
    o.may_share = least > here || any(5) == 0;
    auto const each = least + any(o.may_share ? 4 : (std::min)(std::uint64_t{4}, here - least + 1));
    o.slots = o.ranks * each;
    for (auto& w : loads) w = std::int64_t(any(10) == 0 ? any(5000) : any(300));
    CAPTURE(round, loads.size(), o.ranks, o.slots, o.nodes, o.groups, o.may_share);
    auto const plan = balance_replicated(loads, o, {.work = 20'000});
    CHECK(describe(check_replicated(plan, loads, o)) == "valid");
    CHECK(plan.complete);
    CHECK(plan.load.lower_bound <= plan.load.value);
    CHECK(std::accumulate(plan.loads.begin(), plan.loads.end(), std::int64_t{0}) >=
          row_units * std::accumulate(loads.begin(), loads.end(), std::int64_t{0}));
    if (round % 16 == 0) CHECK(plan == balance_replicated(loads, o, {.work = 20'000}));
  }
}

TEST_CASE("replicated: a layer of 256 experts comes close to its bound") {
  splitmix64 draw(23);
  for (std::uint64_t const groups : {1U, 8U}) {
    rows loads;
    for (std::int64_t i = 0; i < 256; ++i) loads.push_back(1'000'000 / (10 + i));
    for (std::size_t i = 255; i > 0; --i) std::swap(loads[i], loads[std::size_t(uniform_below(i + 1, draw))]);
    replication_options const options{.ranks = 64, .slots = 320, .nodes = 8, .groups = groups};
    auto const plan = balance_replicated(loads, options);
    CHECK(describe(check_replicated(plan, loads, options)) == "valid");
    CHECK(plan.load.gap() < 0.005);
    CHECK(balance_replicated(loads, options, {.work = 0}).load.value >= plan.load.value);
    auto const close = balance_replicated(loads, options, {.work = 1'000'000, .gap = 0.1});
    CHECK(close.load.gap() <= 0.1);
  }
}

TEST_CASE("replicated: hot experts leave room for each other") {
  // six copies of the first and four of the second are smallest, and two ranks then hold both
  rows loads{21401, 10700, 4280};
  for (std::int64_t i = 0; i < 29; ++i) loads.push_back(1000 - 31 * i);
  replication_options const options{.ranks = 8, .slots = 40};
  auto const plan = balance_replicated(loads, options);
  CHECK(check_replicated(plan, loads, options).valid());
  CHECK(plan.load.gap() < 0.01);
}

TEST_CASE("replicated: special cases") {
  // one expert on all ranks, nothing to do, slots that copies of one expert have to share
  auto const one = balance_replicated(rows{7}, {.ranks = 7, .slots = 7});
  CHECK((one.copies == std::vector<std::uint32_t>{7} && one.load == certificate{row_units, row_units}));
  CHECK(balance_replicated(rows{0, 0, 0}, {.ranks = 3}).load == certificate{0, 0});
  auto const shared = balance_replicated(rows{8}, {.ranks = 2, .slots = 4, .may_share = true});
  CHECK((shared.expert_of == std::vector<std::uint32_t>{0, 0, 0, 0} && shared.load == certificate{4 * row_units, 4 * row_units}));
  // without copies: each expert once; a copy of the hot one halves the largest load
  auto const plain = balance_replicated(rows{9, 1, 1, 1}, {.ranks = 4});
  CHECK((plain.load.value == 9 * row_units && plain.load.optimal()));
  auto const copied = balance_replicated(rows{8, 1, 1, 1, 1}, {.ranks = 3, .slots = 6});
  CHECK(copied.copies == std::vector<std::uint32_t>{2, 1, 1, 1, 1});
  CHECK(copied.load == certificate{5 * row_units, 5 * row_units});
  // 17 copies do not divide the unit: a share is rounded up
  auto const many = balance_replicated(rows{3}, {.ranks = 17, .slots = 17});
  CHECK(many.load == certificate{(3 * row_units + 16) / 17, (3 * row_units + 16) / 17});
  // two copies on two nodes keep all rows at home
  CHECK(balance_replicated(rows{6, 6}, {.ranks = 4, .slots = 4, .nodes = 2}).between == certificate{0, 0});
}

TEST_CASE("replicated: a stop ends the search with a valid plan") {
  auto const stop = std::make_unique<std::stop_source>();  // on the heap: g++ 12 warns of one on the stack at -Og
  stop->request_stop();
  splitmix64 draw(24);
  rows loads;
  for (int i = 0; i < 256; ++i) loads.push_back(std::int64_t(uniform_below(100'000, draw)));
  replication_options const options{.ranks = 64, .slots = 320};
  auto const plan = balance_replicated(loads, options, {.work = 1'000'000'000, .stop = stop->get_token()});
  CHECK_FALSE(plan.complete);
  CHECK(check_replicated(plan, loads, options).valid());
  ballast_test::progress_log told;
  CHECK(balance_replicated(loads, options, {.work = 1'000'000, .progress = told}) == balance_replicated(loads, options));
  CHECK((told.sound && told.calls > 4));
}

TEST_CASE("replicated: options that do not suit throw") {
  rows const loads{1, 2, 3, 4};
  auto const sentence = [&](replication_options const& o) { return refusal([&] { return balance_replicated(loads, o).load.value; }); };
  CHECK(sentence({}) == "ranks = 0 must be in [1, 1048576]");
  CHECK(sentence({.ranks = 3}) == "ranks = 3 must divide slots = 4");
  CHECK(sentence({.ranks = 2, .slots = 2}) == "slots = 2 must be in [4, 1048576]");
  CHECK(sentence({.ranks = 4, .nodes = 3}) == "nodes = 3 must divide ranks = 4");
  CHECK(sentence({.ranks = 4, .nodes = 0}) == "nodes = 0 must be in [1, 1048576]");
  CHECK(sentence({.ranks = 4, .groups = 3}) == "groups = 3 must divide experts = 4");
  CHECK(sentence({.ranks = 4, .nodes = 4, .groups = 2}) == "nodes = 4 must divide groups = 2");
  CHECK(sentence({.ranks = 2, .slots = 10}) ==
        "slots = 10 are 5 on a rank, more than the 4 experts that can be there: set may_share, or ask for fewer slots");
  CHECK(sentence({.ranks = 4, .slots = 12, .nodes = 2, .groups = 2}) ==
        "slots = 12 are 3 on a rank, more than the 2 experts that can be there: set may_share, or ask for fewer slots");
  CHECK(refusal([] { return balance_replicated(rows{1, -2}, {.ranks = 1}).load.value; }) ==
        "loads[1] = -2 is negative, or brings the sum of loads to 2^42 or more");
  CHECK(refusal([] { return balance_replicated(rows{1, (std::int64_t{1} << 42) - 1}, {.ranks = 1}).load.value; }) ==
        "loads[1] = 4398046511103 is negative, or brings the sum of loads to 2^42 or more");
  CHECK(refusal([] { return balance_replicated(rows{}, {.ranks = 1}).load.value; }) == "experts = 0 must be in [1, 1048576]");
  CHECK(balance_replicated(rows{(std::int64_t{1} << 42) - 1}, {.ranks = 2, .slots = 2}).load.optimal());
}

}  // namespace test_balance_replicated
